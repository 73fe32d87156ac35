/** Reads `metrics` in a configuration file, for all services or for one: settings by metric name or pattern. */
import { METRIC_NAMES, optInAttributesOf } from '../../meter/catalog.ts';
import { fits, type MetricEntry } from '../../meter/metric-choice.ts';
import { type Format, format, oneOf, trueOrFalse } from '../format/formats.ts';
import { nameFault } from '../format/metric-list.ts';
import { list, map, mapOf, placed, present } from './shape.ts';

const ENTRY_KEYS = 'enabled and attributes';

export const FILE_METRICS = mapOf('metrics', (name, place): readonly MetricEntry[] | undefined => {
  const fault = nameFault(name);
  if (fault !== undefined) {
    return place.complain(`a metric name, or a prefix followed by *; this one ${fault}`);
  }
  if (place.isNull) return place.complain(`a map of ${ENTRY_KEYS}`);
  const entry = map(
    { enabled: placed(present(trueOrFalse)), attributes: placed(list(present(optInOf(name)), 'attributes')) },
    { of: ENTRY_KEYS },
  );
  const { enabled, attributes } = entry.read(place) ?? {};
  // Two entries, because each setting has its own line in the file.
  return [
    { name, enabled: enabled?.value, source: (enabled?.place ?? place).source },
    { name, attributes: attributes?.value, source: (attributes?.place ?? place).source },
  ];
});

/** An opt-in attribute of the metric, or of any metric that the pattern matches. */
function optInOf(name: string): Format<string> {
  const metrics = METRIC_NAMES.filter((metric) => fits(name, metric));
  const known = [...new Set(metrics.flatMap(optInAttributesOf))];
  return known.length > 0
    ? oneOf(known)
    : format('no attribute: there are no opt-in attributes here', () => undefined);
}
