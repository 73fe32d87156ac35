/** Points of a series while the wall clock is set: their times are valid, and all measurements arrive once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Attributes, ValueType } from '@opentelemetry/api';
import { AggregationTemporality } from '@opentelemetry/sdk-metrics';
import { MONOTONIC_SUM, UP_DOWN_SUM } from '../../../src/otlp/aggregate/sum.ts';
import { createSeriesStream } from '../../../src/otlp/collect/series-stream.ts';
import { fc } from '../../seed.ts';
import { KINDS_OF_STREAM, STREAMS, type StreamOptions } from './collected-stream.ts';

const { CUMULATIVE, DELTA } = AggregationTemporality;
const HOUR_MS = 3_600_000;
const T0_MS = 1_700_000_000_000;

/** A stream with its two clocks. */
function clocked(make: (typeof STREAMS)[keyof typeof STREAMS], options: StreamOptions = {}) {
  const clock = { wallMs: T0_MS, steadyMs: 5000.25 };
  const stream = make({ nowMs: () => clock.wallMs, steadyMs: () => clock.steadyMs, ...options });
  const seen = (points: ReturnType<typeof stream.collect>) =>
    points.map(({ total, startMs, endMs }) => [total, startMs - T0_MS, endMs - T0_MS]);
  return {
    ...stream,
    pass(ms: number) {
      clock.wallMs += ms;
      clock.steadyMs += ms;
    },
    set(byMs: number) {
      clock.wallMs += byMs;
    },
    /** Total, start and end of each point, since the beginning. */
    attempt: () => seen(stream.attempt(clock.wallMs)),
    read: (isRetired?: (attributes: Attributes) => boolean) => seen(stream.collect(clock.wallMs, isRetired)),
  };
}

for (const kind of KINDS_OF_STREAM) {
  const make = STREAMS[kind];

  test(`${kind}: with delta temporality, intervals are contiguous while the clock stands still`, () => {
    const { measure, read, pass } = clocked(make, { temporality: DELTA });
    const found = [1, 2, 3].flatMap((value) => {
      measure(value);
      return read();
    });
    pass(10);
    measure(4);
    assert.deepEqual(
      [...found, ...read()],
      [
        [1, -1, 0],
        [2, 0, 1],
        [3, 1, 2],
        [4, 2, 10],
      ],
    );
  });

  test(`${kind}: a sent series ends in its own time, and begins anew by the current clock`, () => {
    const { measure, read, attempt, pass, set } = clocked(make);
    measure(1);
    pass(60_000);
    assert.deepEqual(read(), [[1, 0, 60_000]]);
    set(-HOUR_MS);
    measure(2);
    pass(60_000);
    assert.deepEqual(attempt(), [[3, 0, 120_000]], 'as if nobody had set the clock');
    measure(4);
    pass(60_000);
    assert.deepEqual(read(), [[7, 0, 180_000]]);
    measure(8);
    pass(60_000);
    const anewMs = 180_000 - HOUR_MS;
    assert.deepEqual(read(), [[8, anewMs, anewMs + 60_000]]);
    pass(60_000);
    assert.deepEqual(read(), [[8, anewMs, anewMs + 120_000]]);
  });

  test(`${kind}: a series begins anew even if its last point was never read`, () => {
    const { measure, read, pass, collected } = clocked(make);
    measure(1);
    pass(1000);
    read();
    // At the time 0, to which the clock was set back.
    collected()?.acknowledge(0, 1);
    measure(2);
    assert.deepEqual(
      read().map(([total]) => total),
      [2],
    );
  });

  test(`${kind}: a series older than the step of the clock goes on`, () => {
    const { measure, read, pass, set } = clocked(make);
    measure(1);
    pass(2 * HOUR_MS);
    read();
    set(-HOUR_MS);
    pass(1000);
    measure(2);
    assert.deepEqual(read(), [[3, 0, HOUR_MS + 1000]]);
  });

  test(`${kind}: a clock set back by less than a second is waited for`, () => {
    const { measure, read, pass, set } = clocked(make);
    measure(1);
    pass(100);
    assert.deepEqual(read(), [[1, 0, 100]]);
    set(-900);
    pass(50);
    assert.deepEqual(read(), [[1, 0, 150]]);
    pass(1000);
    assert.deepEqual(read(), [[1, 0, 250]]);
  });
}

test('a non-monotonic series does not begin anew', () => {
  const { measure, read, pass, set } = clocked(STREAMS['up-down counter']);
  measure(5);
  pass(1000);
  read();
  set(-HOUR_MS);
  measure(-2);
  pass(1000);
  assert.deepEqual(read(), [[3, -HOUR_MS, 2000 - HOUR_MS]]);
  pass(1000);
  assert.deepEqual(read(), [[3, -HOUR_MS, 3000 - HOUR_MS]]);
});

const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ worker: fc.nat(2), amount: fc.nat(9) }) },
  { weight: 4, arbitrary: fc.record({ passMs: fc.nat(100_000).map((tenths) => tenths / 10) }) },
  { weight: 3, arbitrary: fc.record({ arrives: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ setMs: fc.integer({ min: -1_000_000, max: 1_000_000 }) }) },
);

for (const [name, aggregation, temporality] of [
  ['cumulative', MONOTONIC_SUM, CUMULATIVE],
  ['delta', MONOTONIC_SUM, DELTA],
  ['cumulative and falls', UP_DOWN_SUM, CUMULATIVE],
] as const) {
  test(`whenever the clock is set, starts are before ends and all measurements arrive once (${name})`, () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 10, maxLength: 60 }), (steps) => {
        const clock = { wallMs: T0_MS, steadyMs: 0 };
        const stream = createSeriesStream<number>({
          descriptor: { name: 'm', description: '', unit: '', valueType: ValueType.INT },
          ...{ aggregation, temporality, limit: 3 },
          nowMs: () => Math.floor(clock.wallMs),
          steadyMs: () => clock.steadyMs,
        });
        /** For each series by its start with cumulative temporality, as in backends. */
        const arrived = new Map<string, number>();
        let measured = 0;
        const collect = (arrives: boolean): readonly number[] => {
          const metric = stream.collect(Math.floor(clock.wallMs), () => false);
          const data = metric?.slice(0, metric.pointCount);
          const ends: number[] = [];
          for (const { attributes, startTime, endTime, value } of data?.dataPoints ?? []) {
            const [startMs, endMs] = [startTime, endTime].map(([s, ns]) => s * 1000 + ns / 1e6);
            assert.ok(startMs !== undefined && endMs !== undefined && startMs < endMs, `${startMs} ${endMs}`);
            ends.push(endMs);
            if (!arrives) continue;
            const isDelta = temporality === DELTA;
            const key = [
              attributes['worker'] ?? '',
              ...(aggregation === UP_DOWN_SUM ? [] : [startMs]),
            ].join();
            arrived.set(key, (isDelta ? (arrived.get(key) ?? 0) : 0) + Number(value));
          }
          if (arrives) metric?.acknowledge(0, metric.pointCount);
          return ends;
        };
        for (const each of steps) {
          if ('amount' in each) {
            stream.measure(each.amount, { worker: `w${each.worker}` });
            measured += each.amount;
          } else if ('passMs' in each) {
            clock.wallMs += each.passMs;
            clock.steadyMs += each.passMs;
          } else if ('setMs' in each) clock.wallMs += each.setMs;
          else collect(each.arrives);
        }
        collect(true);
        assert.equal(
          [...arrived.values()].reduce((sum, each) => sum + each, 0),
          measured,
        );
        clock.wallMs += 2000;
        clock.steadyMs += 2000;
        collect(true);
        clock.wallMs += 1;
        stream.measure(1, { worker: 'w0' });
        clock.wallMs += 1;
        for (const endMs of collect(true))
          assert.equal(endMs, Math.floor(clock.wallMs), 'it follows the clock again');
      }),
      { numRuns: 500 },
    );
  });
}
