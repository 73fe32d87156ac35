import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Attributes, ValueType } from '@opentelemetry/api';
import { emptyResource } from '@opentelemetry/resources';
import { AggregationTemporality } from '@opentelemetry/sdk-metrics';
import type { Aggregation } from '../../../src/otlp/aggregate/aggregation.ts';
import { explicitBuckets } from '../../../src/otlp/aggregate/explicit-buckets.ts';
import { exponentialBuckets } from '../../../src/otlp/aggregate/exponential-buckets.ts';
import { EXEMPLARS_MAX, type Exemplar } from '../../../src/otlp/aggregate/reservoir.ts';
import { MONOTONIC_SUM } from '../../../src/otlp/aggregate/sum.ts';
import { attributesBytes, exemplarsBytes, pointBytes } from '../../../src/otlp/collect/point-bytes.ts';
import { fc } from '../../seed.ts';
import { ENCODINGS, type Encoding, serialised } from '../export/serialised.ts';

const NOW = [1_700_000_000, 999_999_999] satisfies [number, number];
const DESCRIPTOR = { name: 'm', description: '', unit: 's', valueType: ValueType.DOUBLE };

/** Of one more point like this in a request that has some. */
function realBytes<V>(
  aggregation: Aggregation<V>,
  values: readonly number[],
  attributes: Attributes,
  encoding: Encoding,
): number {
  const accumulation = aggregation.begin();
  for (const value of values) accumulation.measure(value);
  const point = { attributes, startTime: NOW, endTime: NOW, value: accumulation.value() };
  const bytesOf = (points: number): number => {
    const identity = { descriptor: DESCRIPTOR, aggregationTemporality: AggregationTemporality.DELTA };
    const metrics = [
      aggregation.metric(
        identity,
        Array.from({ length: points }, () => point),
      ),
    ];
    const scopeMetrics = [{ scope: { name: 's' }, metrics }];
    return serialised({ resource: emptyResource(), scopeMetrics }, encoding).length;
  };
  return bytesOf(3) - bytesOf(2);
}

function assertNotMore<V>(
  aggregation: Aggregation<V>,
  values: readonly number[],
  attributes: Attributes,
): void {
  const estimate = pointBytes(attributesBytes(attributes), aggregation.buckets);
  for (const encoding of ENCODINGS) {
    const real = realBytes(aggregation, values, attributes, encoding);
    assert.ok(real <= estimate, `${real} bytes of ${encoding}, ${estimate} were expected at most`);
  }
}

/** Control characters and halves of characters are what takes most room. */
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300, size: 'max' }),
  fc
    .tuple(fc.constantFrom('\u0000', '\u001f', '"', '\\', '\u007f', '\u2028', '😀', '\ud800'), fc.nat(300))
    .map(([character, times]) => character.repeat(times)),
);
const attributes: fc.Arbitrary<Attributes> = fc.dictionary(
  text,
  fc.oneof(text, fc.boolean(), fc.integer(), fc.double({ noNaN: true })),
  { maxKeys: 30, size: 'max' },
);
const value = fc.double({ min: 0, max: Number.MAX_VALUE, noNaN: true });

test('a sum never exceeds the estimated size, whatever its attributes', () => {
  fc.assert(fc.property(value, attributes, (each, of) => assertNotMore(MONOTONIC_SUM, [each], of)));
});

test('a histogram with explicit buckets, or without any, never exceeds the estimated size', () => {
  const bounds = fc.uniqueArray(fc.double({ min: 0, max: 1e9, noNaN: true }), { maxLength: 20 });
  fc.assert(
    fc.property(fc.array(value), attributes, bounds, (values, of, boundaries) =>
      assertNotMore(explicitBuckets(boundaries), values, of),
    ),
  );
});

test('a histogram with exponential buckets never exceeds the estimated size', () => {
  fc.assert(
    fc.property(fc.array(value), attributes, fc.integer({ min: 2, max: 200 }), (values, of, maxSize) =>
      assertNotMore(exponentialBuckets({ maxSize }), values, of),
    ),
  );
});

test('exemplars never exceed the estimated size', () => {
  const ids = fc.constantFrom(
    { traceId: 'f'.repeat(32), spanId: '0'.repeat(16) },
    { traceId: '', spanId: '' },
  );
  const exemplars: fc.Arbitrary<readonly Exemplar[]> = fc.array(
    fc.record({
      value,
      timeMs: fc.double({ min: 0, max: 1e13, noNaN: true }),
      context: fc
        .tuple(ids, fc.oneof(fc.constant({}), attributes))
        .map(([of, attributes]) => ({ ...of, attributes })),
    }),
    { minLength: 1, maxLength: EXEMPLARS_MAX },
  );
  const point = { attributes: {}, startTime: NOW, endTime: NOW, value: 1 };
  const identity = { descriptor: DESCRIPTOR, aggregationTemporality: AggregationTemporality.DELTA };
  const scopeMetrics = [{ scope: { name: 's' }, metrics: [MONOTONIC_SUM.metric(identity, [point])] }];
  const request = { resource: emptyResource(), scopeMetrics };
  fc.assert(
    fc.property(exemplars, (of) => {
      for (const encoding of ENCODINGS) {
        const bytes = serialised({ ...request, exemplars: new Map([[point, of]]) }, encoding).length;
        const real = bytes - serialised(request, encoding).length;
        assert.ok(real <= exemplarsBytes(of), `${real} bytes of ${encoding}`);
      }
    }),
  );
});

test('a list attribute never exceeds the estimated size', () => {
  for (const list of [
    ['', ''],
    Array(1000).fill(1),
    Array(1000).fill(0.5),
    Array(1000).fill(false),
    Array(1000).fill(''),
  ])
    assertNotMore(MONOTONIC_SUM, [1], { list });
});
