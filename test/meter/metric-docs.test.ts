import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RESOURCE_ATTRIBUTES } from '../../src/meter/attributes.ts';
import type { InstrumentRow } from '../../src/meter/catalog.ts';
import { metricDocs, metricJson } from '../../src/meter/metric-docs.ts';

const SWITCHES = {
  off: { flag: '--off', env: ['OFF'] },
  on: { flag: '--on', env: ['ON', 'ALSO_ON'] },
  optIn: { flag: '--ask', env: ['ASK'] },
};
const FACTS = { stability: 'development', enabled: true, description: 'Something.' } as const;
const METRICS = {
  'celery.counted': {
    ...FACTS,
    instrument: 'counter',
    unit: '{thing}',
    valueType: 'int',
    enabled: true,
    attributes: ['celery.task.name', 'celery.task.requeue'],
    optionalAttributes: ['celery.task.revocation'],
    optInAttributes: ['celery.worker.name'],
  },
  'celery.measured': {
    ...FACTS,
    instrument: 'histogram',
    unit: 's',
    valueType: 'double',
    enabled: false,
    stability: 'stable',
    attributes: [],
    buckets: [0.5, 1],
  },
  'celery.seen': {
    ...FACTS,
    instrument: 'gauge',
    combined: 'max',
    unit: 's',
    valueType: 'double',
    enabled: false,
    attributes: ['celery.worker.name'],
  },
} as const satisfies Record<string, InstrumentRow>;
const SELF_METRICS = {
  'celery_otel.seen': {
    ...FACTS,
    instrument: 'gauge',
    combined: 'sum',
    unit: '{process}',
    valueType: 'int',
    attributes: [],
  },
} as const;

test('each metric has its table, its attributes with values and requirement level, and how to enable it', () => {
  const [head, ...sections] = metricDocs(SWITCHES, { metrics: METRICS, selfMetrics: SELF_METRICS }).split(
    /\n(?=## )/u,
  );
  assert.match(head ?? '', /^# Metrics\n/u);
  assert.equal(sections.length, 5);
  const [byDefault, optional, optIns, resource, internal] = sections;
  assert.ok(
    byDefault?.endsWith(`
\`\`\`sh
OFF=celery.counted
celery-otel run --off celery.counted
\`\`\`

### celery.counted

Something.

| Unit | Metric type | Value type | Temporality | Monotonic | Stability | In Prometheus |
| --- | --- | --- | --- | --- | --- | --- |
| {thing} | Sum | Int | Cumulative | true | development | \`celery_counted_total\` |

#### Attributes

| Name | Description | Values | Requirement level |
| --- | --- | --- | --- |
| celery.task.name | Name of the task; \`unknown\` if no event has it. | Any Str | Required |
| celery.task.requeue | Whether the rejected task went back to its queue. | Any Bool | Required |
| celery.task.revocation | \`revoked\` before it ran, \`terminated\` while it ran, or \`expired\`. | Str: \`revoked\`, \`terminated\`, \`expired\` | Conditionally required |
| celery.worker.name | Nodename of the worker, \`name@host\`. | Any Str | Opt-in |
`),
    byDefault,
  );
  assert.ok(
    optional?.includes(`
\`\`\`sh
ON=celery.measured
ALSO_ON=celery.measured
celery-otel run --on celery.measured
\`\`\`

### celery.measured

Something.

| Unit | Metric type | Value type | Temporality | Stability | In Prometheus |
| --- | --- | --- | --- | --- | --- |
| s | Histogram | Double | Cumulative | stable | \`celery_measured_seconds\` |

Bucket boundaries: 0.5, 1.
`),
    optional,
  );
  assert.ok(
    optional?.endsWith(`
| Unit | Metric type | Value type | Stability | In Prometheus |
| --- | --- | --- | --- | --- |
| s | Gauge | Double | development | \`celery_seen_seconds\` |

Where a view removes attributes, and beyond the cardinality limit, values are combined by their maximum.

#### Attributes

| Name | Description | Values | Requirement level |
| --- | --- | --- | --- |
| celery.worker.name | Nodename of the worker, \`name@host\`. | Any Str | Required |
`),
    optional,
  );
  assert.ok(
    optIns?.endsWith(`
\`\`\`sh
ASK=celery.counted/celery.worker.name
celery-otel run --ask celery.counted/celery.worker.name
\`\`\`
`),
    optIns,
  );
  assert.match(resource ?? '', /^## Resource attributes\n[\s\S]*\n\| service\.name \|/u);
  assert.ok(
    internal?.endsWith(`
### celery_otel.seen

Something.

| Unit | Metric type | Value type | Stability | In Prometheus |
| --- | --- | --- | --- | --- |
| {process} | Gauge | Int | development | \`celery_otel_seen\` |

Where a view removes attributes, and beyond the cardinality limit, values are combined by their sum.
`),
    internal,
  );
});

test('JSON has every row with its name, and the attributes', () => {
  const printed = JSON.parse(metricJson({ metrics: METRICS, selfMetrics: SELF_METRICS }));
  assert.deepEqual(printed.metrics[1], { name: 'celery.measured', ...METRICS['celery.measured'] });
  assert.deepEqual(printed.internalTelemetry, [
    { name: 'celery_otel.seen', ...SELF_METRICS['celery_otel.seen'] },
  ]);
  assert.deepEqual(
    printed.attributes.find((row: { name: string }) => row.name === 'celery.task.revocation').values,
    ['revoked', 'terminated', 'expired'],
  );
  assert.equal(
    printed.attributes.find((row: { name: string }) => row.name === 'celery.task.name').values,
    'string',
  );
  assert.deepEqual(
    printed.resourceAttributes.map((row: { name: string }) => row.name),
    Object.keys(RESOURCE_ATTRIBUTES),
  );
});

test('for the bridge’s own metrics, the document says how to disable them, and names those of the SDK', () => {
  const text = metricDocs(SWITCHES);
  const internal = text.slice(text.indexOf('## Internal telemetry'), text.indexOf('### celery_otel.up'));
  assert.match(internal, /`self_telemetry`/u);
  for (const name of ['metric_data_point.inflight', 'metric_data_point.exported', 'operation.duration'])
    assert.ok(internal.includes(`\`otel.sdk.exporter.${name}\``), name);
});

test('each gauge, and no other metric, says how points are combined', () => {
  const sections = metricDocs(SWITCHES).split(/\n(?=##)/u);
  const saying = sections.filter((section) => section.includes('values are combined by'));
  const gauges = sections.filter((section) => section.includes('| Gauge |'));
  assert.ok(gauges.length > 10);
  assert.deepEqual(saying, gauges);
});
