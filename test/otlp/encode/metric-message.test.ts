/** Metrics with exemplars, as backends read them: in protobuf and in JSON, beside everything that the SDK writes itself. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type HrTime, ValueType } from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type MetricData,
} from '@opentelemetry/sdk-metrics';
import type { Aggregation } from '../../../src/otlp/aggregate/aggregation.ts';
import { explicitBuckets } from '../../../src/otlp/aggregate/explicit-buckets.ts';
import { exponentialBuckets } from '../../../src/otlp/aggregate/exponential-buckets.ts';
import type { Exemplar } from '../../../src/otlp/aggregate/reservoir.ts';
import { MONOTONIC_SUM, UP_DOWN_SUM } from '../../../src/otlp/aggregate/sum.ts';
import { encodeMetrics, type RequestedMetrics } from '../../../src/otlp/encode/metric-message.ts';
import { serviceResource } from '../../../src/otlp/resource.ts';
import { SIGNALS } from '../../../src/otlp/signals.ts';
import { fc } from '../../seed.ts';
import { serialised } from '../export/serialised.ts';
import { attributes, texts } from './arbitrary-items.ts';
import { decodeMetrics } from './official-otlp.ts';

const RESOURCES = [
  serviceResource('shop', { team: 'checkout' }),
  resourceFromAttributes(
    { 'service.name': 'billing', zones: ['a', 'b'], none: [] },
    { schemaUrl: 'https://opentelemetry.io/schemas/1.44.0' },
  ),
];

const { CUMULATIVE, DELTA } = AggregationTemporality;
const times: fc.Arbitrary<HrTime> = fc.tuple(fc.integer({ min: 0, max: 2 ** 33 }), fc.nat(999_999_999));
/** Also those of which a double has no fraction left, and which 32 bits do not hold. */
const amounts = fc.oneof(fc.double({ min: 0, max: 1e300, noNaN: true }), fc.maxSafeNat(), fc.constant(0));
const wholes = fc.oneof(fc.maxSafeInteger(), fc.constantFrom(0, -1, 2 ** 32, -(2 ** 32), 2 ** 32 - 1));

function pointsOf<V>(values: fc.Arbitrary<V>): fc.Arbitrary<DataPoint<V>[]> {
  const point = fc.record({ attributes, startTime: times, endTime: times, value: values });
  return fc.array(point, { minLength: 1, maxLength: 3 });
}

function ofAggregation<V>(aggregation: Aggregation<V>): fc.Arbitrary<MetricData> {
  const values = fc.array(amounts, { maxLength: 30 }).map((all) => {
    const accumulation = aggregation.begin();
    for (const value of all) accumulation.measure(value);
    return accumulation.value();
  });
  return described(ValueType.DOUBLE, (identity) =>
    pointsOf(values).map((points) => aggregation.metric(identity, points)),
  );
}

function described(
  valueType: ValueType,
  metricOf: (identity: Parameters<typeof MONOTONIC_SUM.metric>[0]) => fc.Arbitrary<MetricData>,
): fc.Arbitrary<MetricData> {
  const descriptor = fc.record({
    name: texts,
    description: texts,
    unit: fc.constantFrom('', 's', '{task}'),
    valueType: fc.constant(valueType),
  });
  return fc
    .record({ descriptor, aggregationTemporality: fc.constantFrom(CUMULATIVE, DELTA) })
    .chain(metricOf);
}

const metrics = fc.oneof(
  ofAggregation(MONOTONIC_SUM),
  described(ValueType.INT, (identity) =>
    pointsOf(wholes).map((points) => UP_DOWN_SUM.metric(identity, points)),
  ),
  ofAggregation(explicitBuckets([0.1, 1, 1e9])),
  ofAggregation(explicitBuckets([], { recordMinMax: false })),
  ofAggregation(exponentialBuckets({ maxSize: 40 })),
  described(ValueType.DOUBLE, (identity) =>
    pointsOf(amounts).map(
      (dataPoints): MetricData => ({ ...identity, dataPointType: DataPointType.GAUGE, dataPoints }),
    ),
  ),
);
const scopes = fc.constantFrom(
  { name: 'celery-otel', version: '1.2.3' },
  { name: 'other', schemaUrl: 'https://opentelemetry.io/schemas/1.44.0' },
);
const requests: fc.Arbitrary<RequestedMetrics> = fc.record({
  resource: fc.constantFrom(...RESOURCES),
  scopeMetrics: fc.array(fc.record({ scope: scopes, metrics: fc.array(metrics, { maxLength: 3 }) }), {
    minLength: 1,
    maxLength: 2,
  }),
});

test('without exemplars any metric is encoded as by the SDK, field by field', () => {
  fc.assert(
    fc.property(requests, (data) => {
      assert.deepEqual(decodeMetrics(encodeMetrics(data)), decodeMetrics(serialised(data, 'protobuf')));
    }),
    { numRuns: 200 },
  );
});

const TRACE_ID = '90817c7f6c284fe5aa467adb16d15d7d';
const SPAN_ID = 'a8e69524b9ea48d2';
const SPAN = { traceId: TRACE_ID, spanId: SPAN_ID, attributes: {} };
const TASK = {
  traceId: '',
  spanId: '',
  attributes: { 'celery.task.id': '90817c7f-6c28-4fe5-aa46-7adb16d15d7d' },
};

function metricOf<V>(
  name: string,
  aggregation: Aggregation<V>,
  value: number,
  valueType: ValueType,
): MetricData {
  const accumulation = aggregation.begin();
  accumulation.measure(value);
  const identity = {
    descriptor: { name, description: '', unit: '', valueType },
    aggregationTemporality: DELTA,
  };
  const point = (worker: string): DataPoint<V> => ({
    attributes: { 'celery.worker.name': worker },
    startTime: [1_795_311_503, 0],
    endTime: [1_795_311_504, 0],
    value: accumulation.value(),
  });
  return aggregation.metric(identity, [point('w1'), point('w2')]);
}

/** Two points of each kind of metrics that has exemplars, which only the second points have. */
function exemplified(): RequestedMetrics {
  const all = [
    metricOf('failed', MONOTONIC_SUM, 1, ValueType.INT),
    metricOf('runtime', explicitBuckets([0.1, 1]), 0.25, ValueType.DOUBLE),
    metricOf('wait', exponentialBuckets(), 0.25, ValueType.DOUBLE),
  ];
  const exemplarsOf = ({ descriptor: { valueType } }: MetricData): readonly Exemplar[] => {
    const value = valueType === ValueType.INT ? 1 : 0.25;
    return [SPAN, TASK].map((context) => ({ value, timeMs: 1_795_311_503_949.125, context }));
  };
  const exemplars = new Map(
    all.flatMap((metric) => metric.dataPoints.slice(1).map((point) => [point, exemplarsOf(metric)])),
  );
  const scopeMetrics = [{ scope: { name: 'celery-otel' }, metrics: all }];
  return { resource: serviceResource('shop', {}), scopeMetrics, exemplars };
}

/** What a backend knows of the exemplars of each point, metric by metric. */
function decoded(request: unknown): readonly unknown[] {
  const points: unknown[] = [];
  JSON.parse(JSON.stringify(request), (key, value: unknown) => {
    if (key === 'dataPoints' && Array.isArray(value)) points.push(...value);
    return value;
  });
  return points;
}

test('exemplars are those of their points, in each encoding', () => {
  const { encode } = SIGNALS.metrics;
  const data = exemplified();
  const bytes = (digits: string) => [...Buffer.from(digits, 'hex')];
  const inProtobuf = decoded(decodeMetrics(encode.protobuf(data) ?? assert.fail()));
  const inJson = decoded(JSON.parse(new TextDecoder().decode(encode.json(data))));
  assert.deepEqual([inProtobuf.length, inJson.length], [6, 6]);
  const timeUnixNano = '1795311503949125000';
  const key = 'celery.task.id';
  const task = TASK.attributes[key];
  for (const [index, value] of [{ asInt: '1' }, { asDouble: 0.25 }, { asDouble: 0.25 }].entries()) {
    const ofPoint = (points: readonly unknown[], at: number): unknown =>
      Reflect.get(Object(points[at]), 'exemplars');
    assert.deepEqual(ofPoint(inProtobuf, 2 * index), []);
    assert.deepEqual(ofPoint(inJson, 2 * index), undefined);
    const said = { timeUnixNano, ...value, value: Object.keys(value)[0] };
    assert.deepEqual(ofPoint(inProtobuf, 2 * index + 1), [
      { ...said, spanId: bytes(SPAN_ID), traceId: bytes(TRACE_ID), filteredAttributes: [] },
      {
        ...{ ...said, spanId: [], traceId: [] },
        filteredAttributes: [{ key, value: { stringValue: task, value: 'stringValue' } }],
      },
    ]);
    assert.deepEqual(ofPoint(inJson, 2 * index + 1), [
      { timeUnixNano, ...value, spanId: SPAN_ID, traceId: TRACE_ID },
      { timeUnixNano, ...value, filteredAttributes: [{ key, value: { stringValue: task } }] },
    ]);
  }
});

test('beside exemplars, a request says the same as without them', () => {
  const data = exemplified();
  const { exemplars: _, ...plain } = data;
  const without = (request: unknown): unknown =>
    JSON.parse(JSON.stringify(request), (key, value: unknown) => (key === 'exemplars' ? undefined : value));
  const { encode } = SIGNALS.metrics;
  assert.deepEqual(
    without(decodeMetrics(encode.protobuf(data) ?? assert.fail())),
    without(decodeMetrics(serialised(plain, 'protobuf'))),
  );
  const read = (json: Uint8Array | undefined): unknown => without(JSON.parse(new TextDecoder().decode(json)));
  assert.deepEqual(read(encode.json(data)), read(serialised(plain, 'json')));
});

test('the last points of series that have ended are marked as such, in each encoding', () => {
  const { encode } = SIGNALS.metrics;
  const { exemplars: _, ...plain } = exemplified();
  const flagsIn = (request: unknown) => decoded(request).map((point) => Reflect.get(Object(point), 'flags'));
  for (const [data, flags] of [
    [plain, [0, undefined]],
    [{ ...plain, haveEnded: true }, [1, 1]],
  ] as const) {
    const inProtobuf = flagsIn(decodeMetrics(encode.protobuf(data) ?? assert.fail()));
    const inJson = flagsIn(JSON.parse(new TextDecoder().decode(encode.json(data))));
    assert.deepEqual([new Set(inProtobuf), new Set(inJson)], [new Set([flags[0]]), new Set([flags[1]])]);
    assert.deepEqual([inProtobuf.length, inJson.length], [6, 6]);
  }
});
