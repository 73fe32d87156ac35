/** `metrics` of a configuration file, for all services or for one: settings by metric name or pattern. */
import { METRIC_NAMES, optInAttributesOf } from '../../meter/catalog.ts';
import { fits, type MetricEntry } from '../../meter/metric-choice.ts';
import { line, trueOrFalse } from '../format/formats.ts';
import { nameFault } from '../format/metric-list.ts';
import type { FileValue } from './file-value.ts';
import { list, map, mapOf, placed, present, type Shape } from './shape.ts';

const attribute = present(line(255));

export const FILE_METRICS = mapOf('metrics', (name, place): readonly MetricEntry[] => {
  const fault = nameFault(name);
  if (fault !== undefined) place.complain(`a metric name, or a prefix followed by *; this one ${fault}`);
  else if (place.isNull) place.complain(`a map of ${ENTRY_KEYS}`);
  const { enabled, attributes } = (fault === undefined ? entryOf(name).read(place) : undefined) ?? {};
  // Two entries, each with its own line.
  return [
    ...(enabled === undefined ? [] : [{ name, enabled: enabled.value, source: enabled.place.source }]),
    ...(attributes === undefined
      ? []
      : [{ name, attributes: attributes.value, source: attributes.place.source }]),
  ];
});

const ENTRY_KEYS = 'enabled and attributes';

const entryOf = (name: string) =>
  map(
    {
      enabled: placed(present(trueOrFalse)),
      attributes: placed(list(attributeOf(name), 'attributes')),
    },
    { of: ENTRY_KEYS },
  );

/** An opt-in attribute of the metric, or of any metric that the pattern matches. */
function attributeOf(name: string): Shape<string> {
  const known: readonly string[] = METRIC_NAMES.filter((metric) => fits(name, metric)).flatMap(
    optInAttributesOf,
  );
  const read = (item: FileValue): string | undefined => {
    const requested = attribute.read(item);
    if (requested === undefined || known.includes(requested)) return requested;
    const available = [...new Set(known)].join(', ');
    item.complain(
      available === '' ? 'no attribute: there are no opt-in attributes here' : `one of ${available}`,
    );
    return undefined;
  };
  return { read };
}
