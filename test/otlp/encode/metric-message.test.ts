/** Metrics, with exemplars or without, as backends read them, in protobuf and in JSON. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type HrTime, ValueType } from '@opentelemetry/api';
import { ProtobufMetricsSerializer } from '@opentelemetry/otlp-transformer';
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
import type { RequestedMetrics } from '../../../src/otlp/encode/metric-message.ts';
import { serviceResource } from '../../../src/otlp/resource.ts';
import { fc } from '../../seed.ts';
import { ENCODINGS, serialised } from '../export/serialised.ts';
import { attributes, texts } from './arbitrary-items.ts';
import { decodeMetrics } from './official-otlp.ts';

const RESOURCE = serviceResource('shop', { team: 'checkout' });
const RESOURCES = [
  RESOURCE,
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

test('without exemplars any metric is encoded as by the SDK, field by field, in each encoding', () => {
  fc.assert(
    fc.property(requests, (data) => {
      const theirs = decodeMetrics(ProtobufMetricsSerializer.serializeRequest(data) ?? assert.fail());
      for (const encoding of ENCODINGS)
        assert.deepEqual(decodeMetrics(serialised(data, encoding), encoding), theirs);
    }),
    { numRuns: 200 },
  );
});

test('a value that is no integer, of an instrument that promised integers, is its whole part', () => {
  const points = [1.5, -1.5, 2 ** 60, Number.NaN, Number.POSITIVE_INFINITY].map(
    (value): DataPoint<number> => ({ attributes: {}, startTime: [1, 0], endTime: [2, 0], value }),
  );
  const descriptor = { name: 'odd', description: '', unit: '', valueType: ValueType.INT };
  const metric = UP_DOWN_SUM.metric({ descriptor, aggregationTemporality: DELTA }, points);
  const data = { resource: RESOURCE, scopeMetrics: [{ scope: { name: 'other' }, metrics: [metric] }] };
  for (const encoding of ENCODINGS) {
    const read = decoded(decodeMetrics(serialised(data, encoding), encoding));
    assert.deepEqual(
      read.map((point) => Reflect.get(Object(point), 'asInt')),
      ['1', '-1', '1152921504606846976', '0', '0'],
    );
  }
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
  const data = exemplified();
  const bytes = (digits: string) => [...Buffer.from(digits, 'hex')];
  const timeUnixNano = '1795311503949125000';
  const key = 'celery.task.id';
  const task = { key, value: { stringValue: TASK.attributes[key], value: 'stringValue' } };
  for (const encoding of ENCODINGS) {
    const points = decoded(decodeMetrics(serialised(data, encoding), encoding));
    assert.equal(points.length, 6);
    const ofPoint = (at: number): unknown => Reflect.get(Object(points[at]), 'exemplars');
    for (const [index, value] of [{ asInt: '1' }, { asDouble: 0.25 }, { asDouble: 0.25 }].entries()) {
      const said = { timeUnixNano, ...value, value: Object.keys(value)[0] };
      assert.deepEqual(ofPoint(2 * index), []);
      assert.deepEqual(ofPoint(2 * index + 1), [
        { ...said, spanId: bytes(SPAN_ID), traceId: bytes(TRACE_ID), filteredAttributes: [] },
        { ...said, spanId: [], traceId: [], filteredAttributes: [task] },
      ]);
    }
  }
});

test('the last points of series that have ended are marked as such, in each encoding', () => {
  const { exemplars: _, ...plain } = exemplified();
  for (const [data, flags] of [
    [plain, 0],
    [{ ...plain, haveEnded: true }, 1],
  ] as const) {
    for (const encoding of ENCODINGS) {
      const points = decoded(decodeMetrics(serialised(data, encoding), encoding));
      assert.deepEqual(
        points.map((point) => Reflect.get(Object(point), 'flags')),
        Array.from({ length: 6 }, () => flags),
      );
    }
  }
});
