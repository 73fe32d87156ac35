/**
 * Lists of metrics by name, and what two such lists make of the catalog's defaults. An entry that ends in `*` stands for
 * every name that begins so.
 */
import { isMetricName, METRIC_NAMES, METRICS, type MetricName } from '../meter/catalog.ts';
import { type Format, format } from './formats.ts';
import { nearest } from './near-miss.ts';
import { quote } from './redaction.ts';

const EXPECTS = 'names of metrics with , between them; * at the end of a name stands for anything';

/** Entries as they are given, each of which fits a metric. */
export const metricList: Format<readonly string[]> = format(EXPECTS, (text) => {
  const entries = text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
  const complaints = entries.flatMap((entry) => complaint(entry) ?? []);
  if (complaints.length > 0) return { ok: false, expected: `${EXPECTS}: ${complaints.join('; ')}` };
  return entries.length === 0 ? undefined : { ok: true, value: [...new Set(entries)] };
});

/** What is wrong with an entry, if something is. */
function complaint(entry: string): string | undefined {
  if (entry.endsWith('*')) {
    return METRIC_NAMES.some((name) => fits(entry, name)) ? undefined : `${quote(entry)} fits none`;
  }
  if (isMetricName(entry)) return undefined;
  const near = nearest(entry, METRIC_NAMES);
  return `${quote(entry)} is none${near === undefined ? '' : ` (did you mean ${near}?)`}`;
}

function fits(entry: string, name: string): boolean {
  return entry.endsWith('*') ? name.startsWith(entry.slice(0, -1)) : name === entry;
}

/** How closely the closest of the entries describes a name; -1 where none fits. A name itself is closer than any `*`. */
function closeness(entries: readonly string[], name: string): number {
  const fitting = entries.filter((entry) => fits(entry, name));
  return Math.max(-1, ...fitting.map((entry) => (entry === name ? Number.POSITIVE_INFINITY : entry.length)));
}

export interface MetricSwitches {
  /** Entries of `metricList`; the two lists have none in common. */
  readonly disabled: readonly string[];
  readonly enabled: readonly string[];
}

/** The metrics that are on: as the closest entry says, else as the row's default does. */
export function chooseMetrics(
  { disabled, enabled }: MetricSwitches,
  isOnByDefault: (name: MetricName) => boolean = (name) => METRICS[name].enabled,
): ReadonlySet<MetricName> {
  const isOn = (name: MetricName): boolean => {
    const [off, on] = [closeness(disabled, name), closeness(enabled, name)];
    return on === off ? isOnByDefault(name) : on > off;
  };
  return new Set(METRIC_NAMES.filter(isOn));
}
