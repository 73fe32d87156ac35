/**
 * Chooses which metrics and opt-in attributes are recorded: applies the user's entries to the defaults of the catalog. An
 * entry whose name ends in `*` matches all names with that prefix.
 */
import { METRIC_NAMES, METRICS, type MetricName, OPT_INS, type OptIn } from '../meter/catalog.ts';
import type { MetricChoice } from '../meter/recorder.ts';

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

export interface ChosenMetrics {
  readonly choice: MetricChoice;
  /** The origin of a metric's switch; undefined: the default of the catalog. */
  switchedBy(name: MetricName): string | undefined;
  /** The origin of a metric's attributes; undefined: the default. */
  attributesBy(name: MetricName): string | undefined;
}

/**
 * The most specific entry wins: a full name over any `*`, and a longer prefix over a shorter one.
 * @param layers entries by their source; an earlier layer takes precedence over all later ones
 */
export function chooseMetrics(
  layers: readonly (readonly MetricEntry[])[],
  isOnByDefault: (name: MetricName) => boolean = (name) => METRICS[name].enabled,
): ChosenMetrics {
  const decide = (name: MetricName, says: (entry: MetricEntry) => boolean): MetricEntry | undefined =>
    layers.map((entries) => mostSpecific(entries.filter(says), name)).find((entry) => entry !== undefined);
  const switchEntry = (name: MetricName) => decide(name, ({ enabled }) => enabled !== undefined);
  const attributeEntry = (name: MetricName) => decide(name, ({ attributes }) => attributes !== undefined);
  return {
    choice: {
      metrics: new Set(METRIC_NAMES.filter((name) => switchEntry(name)?.enabled ?? isOnByDefault(name))),
      optIns: new Set(
        METRIC_NAMES.flatMap((name) =>
          optInsOf(name).filter((optIn) =>
            attributeEntry(name)?.attributes?.some((key) => optIn === `${name}/${key}`),
          ),
        ),
      ),
    },
    switchedBy: (name) => switchEntry(name)?.source,
    attributesBy: (name) => attributeEntry(name)?.source,
  };
}

/** The opt-in attributes of a metric. */
export function optInsOf(name: MetricName): readonly OptIn[] {
  return OPT_INS.filter((optIn) => optIn.startsWith(`${name}/`));
}

/** Whether an entry's name, or its prefix before `*`, matches a metric's name. */
export function fits(entry: string, name: string): boolean {
  return entry.endsWith('*') ? name.startsWith(entry.slice(0, -1)) : name === entry;
}

function mostSpecific(entries: readonly MetricEntry[], name: MetricName): MetricEntry | undefined {
  const matching = entries.filter((entry) => fits(entry.name, name));
  return matching.reduce<MetricEntry | undefined>(
    (best, entry) =>
      best === undefined || specificity(entry, name) > specificity(best, name) ? entry : best,
    undefined,
  );
}

function specificity(entry: MetricEntry, name: MetricName): number {
  return entry.name === name ? Number.POSITIVE_INFINITY : entry.name.length;
}
