import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  AggregationTemporality,
  AggregationType,
  DataPointType,
  type ExponentialHistogram,
  MeterProvider,
} from '@opentelemetry/sdk-metrics';
import {
  type ExponentialBucketsOptions,
  exponentialBuckets,
} from '../../../src/otlp/aggregate/exponential-buckets.ts';
import { fc } from '../../seed.ts';
import { ManualReader } from '../collect/reading.ts';
import { bothWays, stepsWith } from './absorption.ts';

const SMALLEST_NORMAL = 2 ** -1022;

/** Of as many kinds as there are ways through the code. */
const value = fc.oneof(
  fc.constantFrom(0, 1, Number.MAX_VALUE, Number.MIN_VALUE, SMALLEST_NORMAL, SMALLEST_NORMAL / 3),
  fc.integer({ min: -1074, max: 1023 }).map((exponent) => 2 ** exponent),
  fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }).map(Math.abs),
  // Durations, as they mostly are; and some so near to one another that they need a fine scale.
  fc.integer({ min: 1, max: 100_000 }).map((durationMs) => durationMs / 1000),
  fc.nat(400).map((step) => 7 + step * 1e-6),
);
/** Mostly of one kind, so that not each comes to the coarsest scale. */
const values = fc.oneof(
  fc.array(value, { minLength: 1, maxLength: 60 }),
  fc.array(
    fc.integer({ min: 1, max: 100_000 }).map((durationMs) => durationMs / 1000),
    { minLength: 1, maxLength: 400 },
  ),
  fc.array(
    fc.nat(400).map((step) => 7 + step * 1e-6),
    { minLength: 1, maxLength: 200 },
  ),
);
const maxSize = fc.constantFrom(2, 3, 7, 20, 160);

function measured(all: readonly number[], options: ExponentialBucketsOptions = {}): ExponentialHistogram {
  const buckets = exponentialBuckets(options).begin();
  for (const each of all) buckets.measure(each);
  return buckets.value();
}

/** Else not all of them are taken, and the SDK’s sum is infinite. */
function hasSum(all: readonly number[]): boolean {
  return Number.isFinite(all.reduce((sum, each) => sum + each, 0));
}

/** What a receiver reads of it: how many values are in the bucket of each index. */
function received({ positive, negative, ...rest }: ExponentialHistogram) {
  const [above, below] = [positive, negative].map(({ offset, bucketCounts }) =>
    bucketCounts.flatMap((count, place) => (count === 0 ? [] : [[offset + place, count]])),
  );
  const { min = 'none', max = 'none', ...others } = rest;
  return { ...others, min, max, above, below };
}

/** The same values through the histogram of the SDK. */
async function measuredBySdk(
  all: readonly number[],
  options: { readonly maxSize: number; readonly recordMinMax: boolean },
): Promise<ExponentialHistogram> {
  const reader = new ManualReader({ selectTemporality: () => AggregationTemporality.DELTA });
  const aggregation = { type: AggregationType.EXPONENTIAL_HISTOGRAM, options } as const;
  const provider = new MeterProvider({ readers: [reader], views: [{ instrumentName: 'h', aggregation }] });
  const histogram = provider.getMeter('shop').createHistogram('h');
  for (const each of all) histogram.record(each);
  const metric = (await reader.read())[0]?.metrics[0];
  await provider.shutdown();
  assert.ok(metric?.dataPointType === DataPointType.EXPONENTIAL_HISTOGRAM);
  const point = metric.dataPoints[0];
  assert.ok(point !== undefined);
  return point.value;
}

/** The only bucket that one value is in. */
function bucketOf(one: number, maxScale: number): number {
  const { scale, positive } = measured([one], { maxScale });
  assert.equal(scale, maxScale);
  assert.deepEqual(positive.bucketCounts, [1]);
  return positive.offset;
}

test('a power of two is in the bucket below it at each scale, and its neighbours on either side', () => {
  for (let maxScale = -10; maxScale <= 20; maxScale += 1) {
    const buckets = 2 ** maxScale;
    for (let exponent = -1022; exponent <= 1023; exponent += maxScale === 20 ? 1 : 7) {
      const power = 2 ** exponent;
      const below = Math.ceil(exponent * buckets) - 1;
      assert.equal(bucketOf(power, maxScale), below, `2^${exponent} at scale ${maxScale}`);
      const next = power * (1 + Number.EPSILON);
      const above = Math.floor(exponent * buckets);
      assert.equal(bucketOf(next, maxScale), above, `above 2^${exponent} at scale ${maxScale}`);
      if (exponent === -1022) continue;
      const before = power * (1 - Number.EPSILON / 2);
      assert.equal(bucketOf(before, maxScale), below, `below 2^${exponent} at scale ${maxScale}`);
    }
  }
});

test('for any measurements, a receiver reads the same as from the SDK', async () => {
  await fc.assert(
    fc.asyncProperty(values, maxSize, fc.boolean(), async (all, size, recordMinMax) => {
      fc.pre(hasSum(all));
      const options = { maxSize: size, recordMinMax };
      const expected = received(await measuredBySdk(all, options));
      const found = received(measured(all, options));
      // Of zeros alone there is no bucket that a scale could say anything of; the SDK says 0.
      const scale = all.every((each) => each === 0) ? 20 : expected.scale;
      assert.deepEqual(found, { ...expected, scale });
    }),
    { numRuns: 1000 },
  );
});

test('there are never more buckets than the limit, and the first and last are not empty', () => {
  fc.assert(
    fc.property(fc.array(value), maxSize, (all, size) => {
      const { bucketCounts } = measured(all, { maxSize: size }).positive;
      assert.equal(exponentialBuckets({ maxSize: size }).buckets, size);
      assert.ok(bucketCounts.length <= size, `${bucketCounts.length} buckets`);
      assert.ok(bucketCounts.at(0) !== 0 && bucketCounts.at(-1) !== 0);
    }),
  );
});

test('a merge of an unsent point is as if its values had been measured here', () => {
  const options = fc.record({
    maxSize,
    maxScale: fc.constantFrom(20, 20, 3, -2),
    recordMinMax: fc.boolean(),
  });
  const steps = fc.oneof(stepsWith(value), stepsWith(fc.nat(400).map((step) => 7 + step * 1e-6)));
  fc.assert(
    fc.property(steps, options, (chosen, chosenOptions) => {
      fc.pre(hasSum(chosen.map((step) => ('value' in step ? step.value : 0))));
      const { alone, together } = bothWays(exponentialBuckets(chosenOptions), chosen);
      const [{ sum = NaN, ...expected }, { sum: sumFound = NaN, ...found }] = [alone, together];
      assert.deepEqual(found, expected);
      // Sums are rounded, in the order in which they are made.
      assert.ok(sumFound === sum || Math.abs(sumFound - sum) <= 1e-12 * sum, `${sumFound}, not ${sum}`);
    }),
    { numRuns: 2000 },
  );
});

test('a merge of zeros costs no resolution', () => {
  const [zeros, buckets] = [exponentialBuckets().begin(), exponentialBuckets().begin()];
  zeros.measure(0);
  buckets.measure(5);
  buckets.absorb({ ...zeros.value(), scale: 0 });
  assert.equal(buckets.value().scale, 20);
  assert.equal(buckets.value().zeroCount, 1);
});

test('a collected point does not change with later measurements and merges', () => {
  const aggregation = exponentialBuckets();
  const [first, second] = [aggregation.begin(), aggregation.begin()];
  first.measure(5);
  const taken = first.value();
  const before = structuredClone(taken);
  second.absorb(taken);
  for (const buckets of [first, second]) for (const each of [5, 0, 1000]) buckets.measure(each);
  assert.deepEqual(taken, before);
});

test('a value that would overflow the sum is refused, and a merge is clamped', () => {
  const aggregation = exponentialBuckets();
  const [buckets, other] = [aggregation.begin(), aggregation.begin()];
  for (const each of [buckets, other]) {
    assert.equal(each.measure(Number.MAX_VALUE), true);
    assert.equal(each.measure(Number.MAX_VALUE), false);
    assert.equal(each.measure(1), true);
  }
  assert.equal(buckets.absorb(other.value()), false);
  assert.equal(buckets.absorb(aggregation.begin().value()), true);
  const { count, sum } = buckets.value();
  assert.deepEqual([count, sum], [4, Number.MAX_VALUE]);
});
