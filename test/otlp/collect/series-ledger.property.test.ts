import { test } from 'node:test';
import { AggregationTemporality } from '@opentelemetry/sdk-metrics';
import type { Aggregation } from '../../../src/otlp/aggregate/aggregation.ts';
import { explicitBuckets } from '../../../src/otlp/aggregate/explicit-buckets.ts';
import { exponentialBuckets } from '../../../src/otlp/aggregate/exponential-buckets.ts';
import { MONOTONIC_SUM, UP_DOWN_SUM } from '../../../src/otlp/aggregate/sum.ts';
import { fc } from '../../seed.ts';
import { WatchedStream, WORKERS } from './watched-stream.ts';

const worker = fc.nat(WORKERS - 1);
const measurement = fc.record({
  worker,
  // Eighths add up exactly in whatever order.
  value: fc.nat(100).map((eighths) => eighths / 8),
  isShared: fc.boolean(),
});

const steps = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: measurement },
    { weight: 2, arbitrary: fc.record({ retired: fc.uniqueArray(worker, { maxLength: 4 }) }) },
    {
      weight: 3,
      arbitrary: fc.record({
        arrives: fc.oneof(
          fc.constant([true]),
          fc.constant([false]),
          fc.array(fc.boolean(), { minLength: 2, maxLength: 4 }),
        ),
        meanwhile: fc.array(measurement, { maxLength: 2 }),
      }),
    },
  ),
  { minLength: 20, maxLength: 80 },
);

function assertHolds<V>(
  aggregation: Aggregation<V>,
  temporality: AggregationTemporality,
  limit: number,
): void {
  fc.assert(
    fc.property(steps, (chosen) => {
      const stream = new WatchedStream(aggregation, temporality, limit);
      const measure = (each: { worker: number; value: number; isShared: boolean }): void =>
        stream.measure(each.worker, each.value, each.isShared);
      for (const step of chosen) {
        if ('retired' in step) stream.retire(step.retired);
        else if ('arrives' in step) stream.collect(step.arrives, () => step.meanwhile.forEach(measure));
        else measure(step);
      }
      const quiet = (): void => {};
      stream.collect([true], quiet);
      stream.collect([], quiet);
    }),
    { numRuns: 200 },
  );
}

const TEMPORALITIES = {
  'under cumulative': AggregationTemporality.CUMULATIVE,
  'under delta': AggregationTemporality.DELTA,
} as const;

for (const [under, temporality] of Object.entries(TEMPORALITIES)) {
  for (const limit of [1, 4, 2000]) {
    test(`${under} and a limit of ${limit}, a counter stays within it and everything counted arrives once`, () => {
      assertHolds(MONOTONIC_SUM, temporality, limit);
    });
    test(`${under} and a limit of ${limit}, so does a histogram with each of its buckets`, () => {
      assertHolds(explicitBuckets([0, 0.5, 2, 8]), temporality, limit);
    });
    test(`${under} and a limit of ${limit}, so does an exponential histogram`, () => {
      assertHolds(exponentialBuckets({ maxSize: 4 }), temporality, limit);
    });
  }
}

test('so does an up-down counter', () => {
  assertHolds(UP_DOWN_SUM, AggregationTemporality.CUMULATIVE, 4);
});
