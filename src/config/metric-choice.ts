/**
 * What is recorded of the catalog: entries that switch metrics off and on and ask for attributes, and what they come to
 * over the catalog's defaults. An entry whose name ends in `*` stands for every name that begins so.
 */
import { METRIC_NAMES, METRICS, type MetricName, OPT_INS, type OptIn } from '../meter/catalog.ts';
import type { MetricChoice } from '../meter/recorder.ts';

/** What is said of one metric, or of all whose names begin alike. */
export interface MetricEntry {
  readonly name: string;
  /** Undefined: nothing is said of it. */
  readonly enabled?: boolean | undefined;
  /** The opt-in attributes that are asked for, and no others; undefined: nothing is said of them. */
  readonly attributes?: readonly string[] | undefined;
  /** Where it is said. */
  readonly source: string;
}

export interface ChosenMetrics {
  readonly choice: MetricChoice;
  /** Where a metric was switched, unless it is as the catalog has it. */
  switchedBy(name: MetricName): string | undefined;
  /** Where the attributes of a metric were asked for, if somewhere they were. */
  attributesBy(name: MetricName): string | undefined;
}

/**
 * As the closest entry says; a name itself is closer than any `*`, and the longer of two `*` is closer.
 * @param layers entries of one place each; what an earlier layer says of a metric wins over all of the later ones
 */
export function chooseMetrics(
  layers: readonly (readonly MetricEntry[])[],
  isOnByDefault: (name: MetricName) => boolean = (name) => METRICS[name].enabled,
): ChosenMetrics {
  const decide = (name: MetricName, says: (entry: MetricEntry) => boolean): MetricEntry | undefined =>
    layers.map((entries) => closest(entries.filter(says), name)).find((entry) => entry !== undefined);
  const switcher = (name: MetricName) => decide(name, ({ enabled }) => enabled !== undefined);
  const asker = (name: MetricName) => decide(name, ({ attributes }) => attributes !== undefined);
  return {
    choice: {
      metrics: new Set(METRIC_NAMES.filter((name) => switcher(name)?.enabled ?? isOnByDefault(name))),
      optIns: new Set(
        METRIC_NAMES.flatMap((name) =>
          optInsOf(name).filter((optIn) =>
            asker(name)?.attributes?.some((key) => optIn === `${name}/${key}`),
          ),
        ),
      ),
    },
    switchedBy: (name) => switcher(name)?.source,
    attributesBy: (name) => asker(name)?.source,
  };
}

/** The opt-in attributes of a metric. */
export function optInsOf(name: MetricName): readonly OptIn[] {
  return OPT_INS.filter((optIn) => optIn.startsWith(`${name}/`));
}

/** Whether an entry's name is a metric's, or ends in `*` and begins as it does. */
export function fits(entry: string, name: string): boolean {
  return entry.endsWith('*') ? name.startsWith(entry.slice(0, -1)) : name === entry;
}

function closest(entries: readonly MetricEntry[], name: MetricName): MetricEntry | undefined {
  const fitting = entries.filter((entry) => fits(entry.name, name));
  return fitting.reduce<MetricEntry | undefined>(
    (best, entry) => (best === undefined || closeness(entry, name) > closeness(best, name) ? entry : best),
    undefined,
  );
}

function closeness(entry: MetricEntry, name: MetricName): number {
  return entry.name === name ? Number.POSITIVE_INFINITY : entry.name.length;
}
