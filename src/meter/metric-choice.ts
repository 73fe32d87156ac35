/**
 * Chooses which metrics and opt-in attributes are recorded: applies the user's entries to the defaults of the catalog. An
 * entry whose name ends in `*` matches all names with that prefix.
 */
import { METRIC_NAMES, METRICS, type MetricName, optInAttributesOf, optInOf } from './catalog.ts';

/** Settings for one metric, or for all with a prefix. */
export interface MetricEntry {
  readonly name: string;
  /** Undefined: not set. */
  readonly enabled?: boolean | undefined;
  /** The complete list of opt-in attributes; undefined: not set. */
  readonly attributes?: readonly string[] | undefined;
  /** Its origin. */
  readonly source: string;
}

/**
 * What is recorded of each metric, and the origins; undefined: the default of the catalog. The most specific entry wins: a
 * full name over any `*`, and a longer prefix over a shorter one.
 * @param layers entries by their source; an earlier layer takes precedence over all later ones
 */
export function chooseMetrics(layers: readonly (readonly MetricEntry[])[]) {
  return METRIC_NAMES.map((name) => {
    const decisive = (says: (entry: MetricEntry) => boolean): MetricEntry | undefined =>
      layers.flatMap((entries) => mostSpecific(entries.filter(says), name))[0];
    const enabling = decisive(({ enabled }) => enabled !== undefined);
    const asking = decisive(({ attributes }) => attributes !== undefined);
    return {
      name,
      isEnabled: enabling?.enabled ?? METRICS[name].enabled,
      optIns: optInAttributesOf(name)
        .filter((key) => asking?.attributes?.includes(key))
        .map((key) => optInOf(name, key)),
      enabledBy: enabling?.source,
      optInsBy: asking?.source,
    };
  });
}

/** Whether an entry's name, or its prefix before `*`, matches a metric's name. */
export function fits(entry: string, name: string): boolean {
  return entry.endsWith('*') ? name.startsWith(entry.slice(0, -1)) : name === entry;
}

/** At most one entry. */
function mostSpecific(entries: readonly MetricEntry[], name: MetricName): readonly MetricEntry[] {
  const length = (entry: MetricEntry): number => (entry.name === name ? Number.MAX_VALUE : entry.name.length);
  const matching = entries.filter((entry) => fits(entry.name, name));
  return matching.toSorted((a, b) => length(b) - length(a)).slice(0, 1);
}
