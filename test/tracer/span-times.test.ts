/** When spans begin and end, with clocks that disagree and times that are missing. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FinishedRun } from '../../src/tracer/ancestry/finished.ts';
import { lone, onlySpan, run, sent, T0_MS, tracer } from './finished-facts.ts';

/** Of the process span, from T0. */
function timesOf(of: Partial<FinishedRun>): readonly number[] {
  const span = onlySpan(tracer().trace(run(of)).spans);
  return [span.startMs - T0_MS, span.endMs - T0_MS];
}

test('a success lasts as long as its runtime', () => {
  // The end is stamped late, then the start.
  assert.deepEqual(timesOf({ runtimeS: 0.09 }), [20, 110]);
  assert.deepEqual(timesOf({ runtimeS: 0.11 }), [10, 120]);
  assert.deepEqual(timesOf({ runtimeS: 0.09, startedMs: undefined }), [30, 120]);
  assert.deepEqual(timesOf({ runtimeS: 0.09, endedMs: undefined }), [20, 110]);
  assert.deepEqual(timesOf({ runtimeS: 0.09, startedMs: undefined, endedMs: undefined }), [35, 125]);
});

test('other ends last from the start to the end, even with a runtime', () => {
  assert.deepEqual(timesOf({ outcome: 'failed', runtimeS: 0.01 }), [20, 120]);
});

test('an end before the start is the start', () => {
  assert.deepEqual(timesOf({ endedMs: T0_MS - 5000 }), [20, 20]);
  assert.deepEqual(timesOf({ outcome: 'lost', endedMs: T0_MS + 15 }), [20, 20]);
});

test('without times: the receipt, then when it was told', () => {
  assert.deepEqual(timesOf({ startedMs: undefined }), [10, 120]);
  assert.deepEqual(timesOf({ endedMs: undefined }), [20, 125]);
  assert.deepEqual(timesOf({ startedMs: undefined, receivedMs: undefined }), [120, 120]);
  assert.deepEqual(timesOf({ startedMs: undefined, receivedMs: undefined, endedMs: undefined }), [125, 125]);
});

test('times that are none are not known', () => {
  for (const broken of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -1, 1e300]) {
    assert.deepEqual(timesOf({ startedMs: broken }), [10, 120], `${broken}`);
    assert.deepEqual(timesOf({ endedMs: broken }), [20, 125], `${broken}`);
    assert.deepEqual(timesOf({ runtimeS: broken }), [20, 120], `${broken}`);
    const all = {
      receivedMs: broken,
      startedMs: broken,
      endedMs: broken,
      reportedMs: broken,
      runtimeS: broken,
    };
    assert.deepEqual(timesOf(all), [-T0_MS, -T0_MS], `${broken}`);
  }
});

test('a runtime that reaches before the epoch or beyond all time keeps the start', () => {
  assert.deepEqual(timesOf({ runtimeS: 1.7e10, endedMs: T0_MS }), [20, 20]);
});

/** Of the send span, from T0. */
function sentAt(sentMs: number | undefined, of: Partial<FinishedRun> = {}): number {
  const [send] = tracer().trace(run({ sent: sent({ sentMs }), ...of })).spans;
  assert.equal(send?.startMs, send?.endMs);
  return (send?.startMs ?? Number.NaN) - T0_MS;
}

test('a sending is a moment: the receipt if that was up to a second earlier', () => {
  assert.equal(sentAt(T0_MS), 0);
  assert.equal(sentAt(T0_MS + 11), 10);
  assert.equal(sentAt(T0_MS + 1010), 10);
  // The clocks differ.
  assert.equal(sentAt(T0_MS + 1011), 1011);
  assert.equal(sentAt(undefined), 10);
  assert.equal(sentAt(Number.NaN, { receivedMs: undefined }), 125);
});

test('a sending without a run is when it was sent', () => {
  assert.equal(onlySpan(tracer().trace(lone()).spans).startMs, T0_MS);
  const untimed = lone({ sent: sent({ sentMs: undefined }) });
  assert.equal(onlySpan(tracer().trace(untimed).spans).startMs, T0_MS + 1000);
});

test('times are never moved because clocks of hosts differ', () => {
  const spans = tracer().trace(run({ sent: sent({ sentMs: T0_MS + 60_000 }) })).spans;
  assert.deepEqual(
    spans.map(({ startMs }) => startMs - T0_MS),
    [60_000, 20],
  );
});
