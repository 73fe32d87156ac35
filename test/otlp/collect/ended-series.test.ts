/** Series that have ended are exported once more, each in a metric of its own, once their last values could be seen. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Attributes, ValueType } from '@opentelemetry/api';
import { hrTimeToMilliseconds } from '@opentelemetry/core';
import { AggregationTemporality } from '@opentelemetry/sdk-metrics';
import { explicitBuckets } from '../../../src/otlp/aggregate/explicit-buckets.ts';
import { createGaugeStream, type GaugeStreamOptions } from '../../../src/otlp/collect/gauge-stream.ts';
import { createSeriesStream } from '../../../src/otlp/collect/series-stream.ts';
import { ofWorker } from './collected-stream.ts';

const DESCRIPTOR = { name: 'm', description: '', unit: 's', valueType: ValueType.DOUBLE };
const W1 = Object.freeze({ worker: 'w1' });
const MINUTE_MS = 60_000;

function histogramOf(zeroFirstMs: number, temporality = AggregationTemporality.CUMULATIVE) {
  let nowMs = 1000;
  const stream = createSeriesStream({
    ...{
      descriptor: DESCRIPTOR,
      aggregation: explicitBuckets([1, 2]),
      temporality,
      limit: 3000,
      zeroFirstMs,
    },
    ...{ nowMs: () => nowMs, steadyMs: () => nowMs },
  });
  return {
    measure: stream.measure,
    /** An export that much later. */
    exportAfter(ms: number, retired = '') {
      nowMs += ms;
      const collected = stream.collect(nowMs, ofWorker(retired));
      collected?.acknowledge(0, collected.pointCount);
    },
    ended: () => stream.collectEnded(nowMs),
    unmarked: () => stream.tally().unmarked,
  };
}

const attributesOf = (points: ReturnType<ReturnType<typeof histogramOf>['ended']>): readonly Attributes[] =>
  points.flatMap(({ metric }) => metric.dataPoints.map(({ attributes }) => attributes));

test('a series that ended has one more point, with all its buckets and its start', () => {
  const { measure, exportAfter, ended } = histogramOf(0);
  measure(1.5, W1);
  exportAfter(10);
  exportAfter(10);
  assert.deepEqual(ended(), []);
  exportAfter(10, 'w1');
  const [point, ...more] = ended();
  assert.deepEqual(more, []);
  assert.deepEqual(point?.metric.dataPoints, [
    {
      attributes: W1,
      startTime: [1, 0],
      endTime: [1, 30_000_000],
      value: { count: 0, sum: 0, buckets: { boundaries: [1, 2], counts: [0, 0, 0] } },
    },
  ]);
  assert.ok(point.bytes > 0);
  point.arrived();
  assert.deepEqual(ended(), []);
});

test('not before the last value could be seen; and again until it has arrived, but not for ever', () => {
  const { measure, exportAfter, ended, unmarked } = histogramOf(MINUTE_MS);
  measure(1.5, W1);
  exportAfter(10);
  exportAfter(MINUTE_MS);
  measure(1, W1);
  exportAfter(10);
  exportAfter(10, 'w1');
  assert.deepEqual(ended(), []);
  exportAfter(MINUTE_MS);
  assert.deepEqual(attributesOf(ended()), [W1]);
  exportAfter(MINUTE_MS);
  assert.deepEqual(attributesOf(ended()), [W1]);
  assert.equal(unmarked(), 0);
  exportAfter(5 * MINUTE_MS);
  assert.deepEqual(ended(), []);
  assert.equal(unmarked(), 1);
});

test('nor before a value that was held back while the series was 0 could be seen', () => {
  const { measure, exportAfter, ended } = histogramOf(MINUTE_MS);
  measure(1.5, W1);
  exportAfter(10, 'w1');
  exportAfter(MINUTE_MS, 'w1');
  exportAfter(10, 'w1');
  assert.deepEqual(ended(), []);
  exportAfter(MINUTE_MS, 'w1');
  assert.deepEqual(attributesOf(ended()), [W1]);
});

test('not if it lives again, nor if it was never exported, nor with delta temporality', () => {
  const back = histogramOf(0);
  back.measure(1, W1);
  back.exportAfter(10);
  back.exportAfter(10);
  back.exportAfter(10, 'w1');
  back.measure(1, W1);
  assert.deepEqual(back.ended(), []);
  back.exportAfter(10);
  assert.deepEqual(back.ended(), []);
  const delta = histogramOf(0, AggregationTemporality.DELTA);
  delta.measure(1, W1);
  delta.exportAfter(10);
  delta.exportAfter(10, 'w1');
  assert.deepEqual(delta.ended(), []);
});

test('of more than fit, the first are reported and the others counted', () => {
  const { measure, exportAfter, ended, unmarked } = histogramOf(0);
  for (let index = 0; index < 1200; index += 1) measure(1, { worker: 'w1', index });
  exportAfter(10);
  exportAfter(10);
  exportAfter(10, 'w1');
  assert.deepEqual([ended().length, unmarked()], [1000, 200]);
});

test('the five minutes in which an end can be reported begin with the end, not with the last measurement', () => {
  const { measure, exportAfter, ended, unmarked } = histogramOf(0);
  measure(1, W1);
  exportAfter(10);
  exportAfter(10);
  exportAfter(10 * MINUTE_MS, 'w1');
  assert.deepEqual([attributesOf(ended()), unmarked()], [[W1], 0]);
});

function gaugeOf(options: Partial<GaugeStreamOptions> = {}) {
  let nowMs = 0;
  const stream = createGaugeStream({
    ...{ descriptor: DESCRIPTOR, combination: 'max', limit: 10, steadyMs: () => nowMs, ...options },
  });
  /** Those of which the end is reported, in an export a second later. @param hasEnded by default, none is known to have */
  function ends(observed: readonly string[], hasEnded?: (attributes: Attributes) => boolean) {
    nowMs += 1000;
    for (const worker of observed) stream.observe(1, { worker });
    if (hasEnded !== undefined) stream.end(hasEnded);
    stream.collect(nowMs, () => true);
    const points = stream.collectEnded(nowMs);
    for (const point of points) point.arrived();
    assert.ok(
      points.every(({ metric }) => hrTimeToMilliseconds(metric.dataPoints[0]?.endTime ?? [0, 0]) === nowMs),
    );
    return attributesOf(points)
      .map(({ worker = 'overflow' }) => worker)
      .toSorted();
  }
  return { ends, pass: (ms: number) => (nowMs += ms), unmarked: () => stream.tally().unmarked };
}

const ALL = () => true;

for (const combination of ['sum', 'min', 'max', 'max in order'] as const)
  test(`a gauge has one of each series that has ended; one that is only missing has none: ${combination}`, () => {
    const { ends } = gaugeOf({ combination });
    assert.deepEqual(ends(['w1', 'w2', 'w3'], ALL), []);
    assert.deepEqual(ends(['w3'], ofWorker('w1', 'w3')), ['w1']);
    assert.deepEqual(ends(['w1', 'w3']), []);
    assert.deepEqual(ends(['w1', 'w3'], ALL), ['w2'], 'w2 had been missing until it ended');
    assert.deepEqual(ends(['w1', 'w2', 'w3'], ALL), []);
    assert.deepEqual(ends([]), [], 'nothing is known');
    assert.deepEqual(ends(['w1'], ALL), ['w2', 'w3']);
  });

test('a gauge that is missing for longer than a backend remembers it has no end to report', () => {
  const { ends, pass, unmarked } = gaugeOf();
  ends(['w1', 'w2']);
  ends(['w2']);
  pass(6 * MINUTE_MS);
  ends(['w2']);
  assert.deepEqual(ends(['w2'], ALL), []);
  assert.equal(unmarked(), 0);
});

test('a gauge that lost its place to another has an end, and so has the overflow', () => {
  const { ends } = gaugeOf({ combination: 'max in order', limit: 2 });
  assert.deepEqual(ends(['w1'], ALL), []);
  assert.deepEqual(ends(['w2', 'w1'], ALL), ['w1']);
  assert.deepEqual(ends(['w2'], ALL), ['overflow']);
});

test('no more gauges are remembered as missing than can have a point', () => {
  const { ends } = gaugeOf({ limit: 3 });
  for (let round = 0; round < 10; round += 1) ends([`a${round}`, `b${round}`]);
  assert.deepEqual(
    ends([], ALL),
    ['a8', 'a9', 'b7', 'b8', 'b9'],
    'three, and two that had a point until now',
  );
});
