/** What Prometheus calls the metrics of the catalog, and their labels. It reads no metrics. */
import { ATTRIBUTES, type AttributeRow } from '../../src/meter/attributes.ts';
import { type InstrumentRow, METRICS, SELF_METRICS } from '../../src/meter/catalog.ts';
import { prometheusLabel as label, prometheusName } from '../../src/meter/prometheus-name.ts';

/** A series of Prometheus. */
export interface PrometheusName {
  readonly instrument: InstrumentRow['instrument'];
  readonly labels: ReadonlySet<string>;
}

/** The Collector puts them on every series; the last one only if the resource has it. */
const ON_EVERY_SERIES = ['job', 'instance', 'deployment_environment_name'];

function namesOf([metric, row]: readonly [string, InstrumentRow]): readonly [string, PrometheusName][] {
  const name = prometheusName(metric, row);
  const keys = [...row.attributes, ...(row.optionalAttributes ?? []), ...(row.optInAttributes ?? [])];
  const labels = new Set([...ON_EVERY_SERIES, ...keys.map(label)]);
  const { instrument } = row;
  if (instrument !== 'histogram') return [[name, { instrument, labels }]];
  return [
    [`${name}_bucket`, { instrument, labels: new Set([...labels, 'le']) }],
    [`${name}_sum`, { instrument, labels }],
    [`${name}_count`, { instrument, labels }],
  ];
}

export const PROMETHEUS_NAMES: ReadonlyMap<string, PrometheusName> = new Map(
  Object.entries<InstrumentRow>({ ...METRICS, ...SELF_METRICS }).flatMap(namesOf),
);

/** Label → its values, where the list of them is closed. */
export const LABEL_VALUES: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries<AttributeRow>(ATTRIBUTES).flatMap(([key, { values }]) => {
    if (values === undefined) return [];
    return [[label(key), values === 'boolean' ? ['true', 'false'] : values]] as const;
  }),
);
