/**
 * Decides which metrics and opt-in attributes are recorded, by the user's entries and the defaults of the catalog. An entry
 * whose name ends in `*` matches all names with that prefix.
 */
import { METRIC_NAMES, METRICS, type MetricName, optInAttributesOf, optInOf } from './catalog.ts';

/** Settings for one metric, or for all metrics with a prefix. */
export interface MetricEntry {
  readonly name: string;
  /** Undefined: not set. */
  readonly enabled?: boolean | undefined;
  /** The complete list of opt-in attributes; undefined: not set. */
  readonly attributes?: readonly string[] | undefined;
  /** Where the entry was set: a flag, a variable, or a line of a file. */
  readonly source: string;
}

/**
 * Whether each metric is enabled, with which opt-in attributes, and where each was set (undefined: the default of the catalog).
 * The most specific entry of a layer wins: a full name over any `*`, and a longer prefix over a shorter one.
 * @param layers the entries of each source; an earlier layer takes precedence over all later ones
 */
export function chooseMetrics(layers: readonly (readonly MetricEntry[])[]) {
  return METRIC_NAMES.map((name) => {
    const decisive = (isRelevant: (entry: MetricEntry) => boolean): MetricEntry | undefined =>
      layers.flatMap((entries) => mostSpecific(entries.filter(isRelevant), name))[0];
    const forEnabled = decisive(({ enabled }) => enabled !== undefined);
    const forAttributes = decisive(({ attributes }) => attributes !== undefined);
    return {
      name,
      isEnabled: forEnabled?.enabled ?? METRICS[name].enabled,
      optIns: optInAttributesOf(name)
        .filter((key) => forAttributes?.attributes?.includes(key))
        .map((key) => optInOf(name, key)),
      enabledBy: forEnabled?.source,
      optInsBy: forAttributes?.source,
    };
  });
}

/** Whether an entry's name, or its prefix before `*`, matches a metric's name. */
export function fits(entry: string, name: string): boolean {
  return entry.endsWith('*') ? name.startsWith(entry.slice(0, -1)) : name === entry;
}

/** The most specific entry that matches, as a list of at most one. */
function mostSpecific(entries: readonly MetricEntry[], name: MetricName): readonly MetricEntry[] {
  const length = (entry: MetricEntry): number => (entry.name === name ? Number.MAX_VALUE : entry.name.length);
  const matching = entries.filter((entry) => fits(entry.name, name));
  return matching.toSorted((a, b) => length(b) - length(a)).slice(0, 1);
}
