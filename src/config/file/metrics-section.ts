/** `metrics` of a configuration file, for all services or for one: a metric or a pattern → what is said of it. */
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
      entry.complain(`the name of a metric, or the beginning of some with a * after it; this ${fault}`);
      return [];
    }
    return readEntry(name, entry);
  });
}

/** Each of the two things that can be said is an entry of its own, with its own line. */
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
    const asked = attributes.items().flatMap((item) => readAttribute(name, item) ?? []);
    entries.push({ name, attributes: asked, source: attributes.source });
  }
  return entries;
}

/** An attribute that can be asked for of a metric, or of one of those that a pattern stands for. */
function readAttribute(name: string, item: FileValue): string | undefined {
  const asked = item.read(attribute);
  const known = METRIC_NAMES.filter((metric) => fits(name, metric)).flatMap((metric) =>
    optInsOf(metric).map((optIn) => optIn.slice(metric.length + 1)),
  );
  if (asked === undefined || known.includes(asked)) return asked;
  const there = [...new Set(known)].join(', ');
  item.complain(there === '' ? 'nothing here: there is no attribute to ask for' : `any of ${there}`);
  return undefined;
}
