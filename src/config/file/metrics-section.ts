/** `metrics` of a configuration file, for all services or for one: settings by metric name or pattern. */
import { METRIC_NAMES } from '../../meter/catalog.ts';
import { type Format, line, trueOrFalse } from '../format/formats.ts';
import { nameFault } from '../format/metric-list.ts';
import { fits, type MetricEntry, optInsOf } from '../metric-choice.ts';
import type { FileValue } from './file-value.ts';

const KEYS = ['enabled', 'attributes'];
const attribute: Format<string> = line(255);

export function readMetrics(metrics: FileValue | undefined): readonly MetricEntry[] {
  if (metrics === undefined || !metrics.expectMap('metrics')) return [];
  return metrics.entries().flatMap(([name, entry]) => {
    const fault = nameFault(name);
    if (fault !== undefined) {
      entry.complain(`a metric name, or a prefix followed by *; this one ${fault}`);
      return [];
    }
    return readEntry(name, entry);
  });
}

/** `enabled` and `attributes` are separate entries, each with its own line. */
function readEntry(name: string, entry: FileValue): readonly MetricEntry[] {
  if (entry.isNull || !entry.expectMap(KEYS.join(' and '))) {
    if (entry.isNull) entry.complain(`a map of ${KEYS.join(' and ')}`);
    return [];
  }
  entry.expectKeys(KEYS);
  const entries: MetricEntry[] = [];
  const enabled = entry.get('enabled');
  if (enabled !== undefined) {
    entries.push({ name, enabled: enabled.read(trueOrFalse), source: enabled.source });
  }
  const attributes = entry.get('attributes');
  if (attributes?.expectList('attributes') === true) {
    const requested = attributes.items().flatMap((item) => readAttribute(name, item) ?? []);
    entries.push({ name, attributes: requested, source: attributes.source });
  }
  return entries;
}

/** An opt-in attribute of the metric, or of any metric that the pattern matches. */
function readAttribute(name: string, item: FileValue): string | undefined {
  const requested = item.read(attribute);
  const known = METRIC_NAMES.filter((metric) => fits(name, metric)).flatMap((metric) =>
    optInsOf(metric).map((optIn) => optIn.slice(metric.length + 1)),
  );
  if (requested === undefined || known.includes(requested)) return requested;
  const available = [...new Set(known)].join(', ');
  item.complain(
    available === '' ? 'no attribute: there are no opt-in attributes here' : `one of ${available}`,
  );
  return undefined;
}
