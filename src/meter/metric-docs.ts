/**
 * Writes the catalog as a Markdown document, in the form that OpenTelemetry Collector components use, and as JSON. Pure:
 * everything is generated from the tables.
 */
import { ATTRIBUTES, type AttributeKey, type AttributeRow, RESOURCE_ATTRIBUTES } from './attributes.ts';
import { type InstrumentRow, METRICS, SELF_METRICS } from './catalog.ts';
import { prometheusName } from './prometheus-name.ts';

/** The flag and the environment variables of an option. */
interface OptionNames {
  readonly flag: string;
  readonly env: readonly string[];
}

/** The options that disable and enable metrics, and enable opt-in attributes. */
export interface Switches {
  readonly off: OptionNames;
  readonly on: OptionNames;
  readonly optIn: OptionNames;
}

/** The tables to document; tests pass other ones. */
export interface Tables {
  readonly metrics: Readonly<Record<string, InstrumentRow>>;
  readonly selfMetrics: Readonly<Record<string, InstrumentRow>>;
}

const CATALOG: Tables = { metrics: METRICS, selfMetrics: SELF_METRICS };

export function metricDocs(switches: Switches, { metrics, selfMetrics }: Tables = CATALOG): string {
  const on = Object.entries(metrics).filter(([, row]) => row.enabled);
  const off = Object.entries(metrics).filter(([, row]) => !row.enabled);
  const optIns = Object.entries(metrics).flatMap(([name, { optInAttributes = [] }]) =>
    optInAttributes.map((key) => `${name}/${key}`),
  );
  const parts = [
    '# Metrics',
    'The temporality is the default one; the option `otlp_temporality_preference` can make cumulative metrics deltas.',
    'The names in Prometheus are those that the Collector’s Prometheus exporter makes, with suffixes for unit and type; a histogram has `_bucket`, `_sum` and `_count` behind its own. In names of attributes, each dot becomes `_`.',
    '## Default metrics',
    'These are exported unless they are switched off, by name; a `*` at the end of a name matches any rest:',
    example(switches.off, on[0]?.[0]),
    ...on.flatMap(metricSection),
    '## Optional metrics',
    'These are exported only if they are switched on, in the same way:',
    example(switches.on, off[0]?.[0]),
    ...off.flatMap(metricSection),
    '## Opt-in attributes',
    'These attributes multiply the series of a metric, so they are on its points only if requested, metric by metric:',
    example(switches.optIn, optIns[0]),
    '## Resource attributes',
    'Each Celery service is a resource of its own. The option `resource_attributes` adds more attributes to it.',
    table(
      ['Name', 'Description', 'Values'],
      Object.entries(RESOURCE_ATTRIBUTES).map(([key, row]) => [key, row.description, valuesOf(row)]),
    ),
    '## Internal telemetry',
    'Metrics about celery-otel itself, under a resource of their own, unless `self_telemetry` disables them.',
    'With them come the metrics of the exporter that the OpenTelemetry SDK defines (semantic conventions, "OpenTelemetry SDK metrics"): `otel.sdk.exporter.metric_data_point.inflight`, `otel.sdk.exporter.metric_data_point.exported` and `otel.sdk.exporter.operation.duration`.',
    ...Object.entries(selfMetrics).flatMap(metricSection),
  ];
  return `${parts.join('\n\n')}\n`;
}

/** The rows of the tables as JSON, each with its name. */
export function metricJson({ metrics, selfMetrics }: Tables = CATALOG): string {
  const named = (rows: Readonly<Record<string, object>>, usual = {}) =>
    Object.entries(rows).map(([name, row]) => ({ name, ...usual, ...row }));
  const document = {
    metrics: named(metrics),
    internalTelemetry: named(selfMetrics),
    attributes: named(ATTRIBUTES, { values: 'string' }),
    resourceAttributes: named(RESOURCE_ATTRIBUTES, { values: 'string' }),
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

function example({ flag, env }: OptionNames, value = 'NAME'): string {
  const lines = [...env.map((name) => `${name}=${value}`), `celery-otel run ${flag} ${value}`];
  return ['```sh', ...lines, '```'].join('\n');
}

const COMBINED: Readonly<Record<NonNullable<InstrumentRow['combined']>, string>> = {
  sum: 'Where a view removes attributes, and beyond the cardinality limit, values are combined by their sum.',
  max: 'Where a view removes attributes, and beyond the cardinality limit, values are combined by their maximum.',
  min: 'Where a view removes attributes, and beyond the cardinality limit, values are combined by their minimum.',
  'max in order':
    'Where a view removes attributes, and beyond the cardinality limit, values are combined by their maximum. Queues of which a worker has reported a task come first.',
};

function metricSection([name, row]: readonly [string, InstrumentRow]): readonly string[] {
  const facts = factsOf(name, row);
  const attributes = attributeRows(row);
  return [
    `### ${name}`,
    row.description,
    table(
      facts.map(([head]) => head),
      [facts.map(([, fact]) => fact)],
    ),
    ...(row.combined === undefined ? [] : [COMBINED[row.combined]]),
    ...(row.buckets === undefined ? [] : [`Bucket boundaries: ${row.buckets.join(', ')}.`]),
    ...(attributes.length === 0
      ? []
      : ['#### Attributes', table(['Name', 'Description', 'Values', 'Requirement level'], attributes)]),
  ];
}

/** The columns of a metric's table. A gauge has no temporality, and only a sum can be monotonic. */
function factsOf(name: string, row: InstrumentRow): readonly (readonly [head: string, fact: string])[] {
  const type = { counter: 'Sum', histogram: 'Histogram', gauge: 'Gauge' }[row.instrument];
  return [
    ['Unit', row.unit],
    ['Metric type', type],
    ['Value type', row.valueType === 'int' ? 'Int' : 'Double'],
    ...(row.instrument === 'gauge' ? [] : [['Temporality', 'Cumulative'] as const]),
    ...(row.instrument === 'counter' ? [['Monotonic', 'true'] as const] : []),
    ['Stability', row.stability],
    ['In Prometheus', `\`${prometheusName(name, row)}\``],
  ];
}

function attributeRows(row: InstrumentRow): readonly (readonly string[])[] {
  const levels: readonly (readonly [string, readonly AttributeKey[]])[] = [
    ['Required', row.attributes],
    ['Conditionally required', row.optionalAttributes ?? []],
    ['Opt-in', row.optInAttributes ?? []],
  ];
  return levels.flatMap(([level, keys]) =>
    keys.map((key) => [key, ATTRIBUTES[key].description, valuesOf(ATTRIBUTES[key]), level]),
  );
}

function valuesOf({ values }: AttributeRow): string {
  if (values === undefined) return 'Any Str';
  if (values === 'boolean') return 'Any Bool';
  return `Str: ${values.map((value) => `\`${value}\``).join(', ')}`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
