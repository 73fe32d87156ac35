/** Traces that are kept or dropped as a whole: a failure keeps all runs of its trace, whenever they ended. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FinishedRun } from '../../src/tracer/ancestry/finished.ts';
import { HeldTraces } from '../../src/tracer/held-traces.ts';
import type { Sampler } from '../../src/tracer/trace-settings.ts';
import type { Tracer } from '../../src/tracer/tracer.ts';
import { lone, PARENT, run, sent, T0_MS, tracer, UUID } from './finished-facts.ts';

const HOLD_MS = 300_000;
const QUIET_MS = 10_000;
const MANY = Number.POSITIVE_INFINITY;

/** All failures, and a share of the rest. R of the trace of UUID is 0x467adb16d15d7d, so 0.73 and more keep it. */
function failuresAnd(ratio: number): Sampler {
  const failed = { key: 'celery.task.outcome', values: ['failed'] };
  return {
    kind: 'rule_based',
    rules: [
      { attributeValues: failed, sampler: { kind: 'always_on' } },
      { sampler: { kind: 'probability', ratio } },
    ],
  };
}

function holding(ratio = 0.05, holdMs = HOLD_MS): Tracer {
  return tracer({ sampler: failuresAnd(ratio), holdMs });
}

/** A run of another task in the trace of UUID. */
function next(of: Partial<FinishedRun> = {}): FinishedRun {
  return run({ uuid: PARENT, rootId: UUID, parentId: UUID, traceRootId: UUID, ...of });
}

function failed(of: Partial<FinishedRun> = {}): FinishedRun {
  return next({ outcome: 'failed', errorType: 'ValueError', reportedMs: T0_MS + 60_000, ...of });
}

/** The outcomes of the spans, and their trace states. */
function spansOf(made: Tracer, nowMs: number): readonly string[] {
  return made
    .decided(nowMs, MANY)
    .flatMap(({ traced }) => traced.spans)
    .map(({ attributes, traceState }) => `${attributes['celery.task.outcome']} ${traceState}`);
}

describe('a failing trace is kept whole', () => {
  test('with the runs that ended before the failure, and with those that end after it', () => {
    const made = holding();
    made.opened(UUID, false, T0_MS);
    const first = made.trace(run());
    assert.deepEqual([first.isHeld, first.isKept, first.spans.length], [true, false, 0]);
    made.closed(UUID, T0_MS);
    const failure = made.trace(failed());
    assert.equal(failure.spans[0]?.traceState, 'ot=th:0');
    // The probability of the whole trace is that of the failure.
    assert.deepEqual(spansOf(made, T0_MS + 60_000), ['succeeded ot=th:0']);
    const last = made.trace(next({ uuid: '00000000-0000-4000-8000-000000000001' }));
    assert.deepEqual([last.isHeld, last.isKept, last.spans[0]?.traceState], [undefined, true, 'ot=th:0']);
    assert.deepEqual(spansOf(made, MANY), []);
  });

  test('with the sendings', () => {
    const made = holding();
    made.trace(lone({ uuid: '00000000-0000-4000-8000-000000000001', rootId: UUID, traceRootId: UUID }));
    made.trace(run({ sent: sent() }));
    assert.equal(made.trace(failed()).spans.length, 1);
    const spans = made.decided(T0_MS, MANY).flatMap(({ traced }) => traced.spans);
    assert.deepEqual(
      spans.map(({ name }) => name),
      ['send shop.charge', 'send shop.charge', 'process shop.charge'],
    );
  });

  test('however long a run of it waits or runs', () => {
    const made = holding();
    made.trace(run());
    made.opened(UUID, false, T0_MS + 1000);
    assert.deepEqual(spansOf(made, T0_MS + HOLD_MS - 1), []);
    made.trace(failed({ reportedMs: T0_MS + HOLD_MS - 1 }));
    assert.deepEqual(spansOf(made, T0_MS + HOLD_MS - 1), ['succeeded ot=th:0']);
  });

  test('also if a retry was received before the attempt had ended, and then for no longer than other traces', () => {
    const made = holding(0.75);
    made.opened(UUID, false, T0_MS);
    made.opened(UUID, true, T0_MS);
    made.trace(run({ outcome: 'retried', reportedMs: T0_MS }));
    made.closed(UUID, T0_MS);
    made.trace(run({ retries: 1, reportedMs: T0_MS }));
    made.closed(UUID, T0_MS);
    assert.deepEqual(spansOf(made, T0_MS + QUIET_MS - 1), []);
    assert.equal(spansOf(made, T0_MS + QUIET_MS).length, 2);
  });

  test('however long a retry of it waits', () => {
    const made = holding();
    made.opened(UUID, false, T0_MS);
    made.trace(run({ outcome: 'retried' }));
    made.closed(UUID, T0_MS);
    assert.deepEqual(spansOf(made, T0_MS + 5 * QUIET_MS), []);
    made.opened(UUID, true, T0_MS + 5 * QUIET_MS);
    made.trace(run({ outcome: 'failed', retries: 1, reportedMs: T0_MS + 5 * QUIET_MS }));
    made.closed(UUID, T0_MS + 5 * QUIET_MS);
    assert.deepEqual(spansOf(made, T0_MS + 5 * QUIET_MS), ['retried ot=th:0']);
  });
});

describe('any other trace is kept or dropped as the sampler decides', () => {
  test('once nothing of it is open and nothing has happened for ten seconds', () => {
    for (const [ratio, expected] of [
      [0.05, []],
      [0.75, ['succeeded ot=th:4', 'succeeded ot=th:4']],
    ] as const) {
      const made = holding(ratio);
      made.opened(UUID, false, T0_MS);
      made.trace(run({ reportedMs: T0_MS }));
      made.trace(next({ reportedMs: T0_MS }));
      assert.deepEqual(spansOf(made, T0_MS + 10 * QUIET_MS), [], 'a run is open');
      made.closed(UUID, T0_MS);
      assert.deepEqual(spansOf(made, T0_MS + QUIET_MS - 1), [], 'the next task may be in a queue');
      assert.deepEqual(spansOf(made, T0_MS + QUIET_MS), expected);
      assert.deepEqual(spansOf(made, MANY), []);
    }
  });

  test('once its time is up', () => {
    const made = holding(0.75);
    made.trace(run({ reportedMs: T0_MS }));
    made.opened(UUID, false, T0_MS);
    assert.deepEqual(spansOf(made, T0_MS + HOLD_MS), ['succeeded ot=th:4']);
    // What follows is held anew.
    assert.equal(made.trace(next({ reportedMs: T0_MS + HOLD_MS + 1 })).isHeld, true);
    assert.deepEqual(spansOf(made, T0_MS + 2 * HOLD_MS), []);
    assert.deepEqual(spansOf(made, T0_MS + 2 * HOLD_MS + 1), ['succeeded ot=th:4']);
  });

  test('nothing is held where the sampler treats all runs of a trace alike, or if it is switched off', () => {
    const alike = tracer({ sampler: { kind: 'probability', ratio: 0.75 }, holdMs: HOLD_MS });
    for (const made of [alike, holding(0.75, 0)]) {
      assert.equal(made.holdsTraces, false);
      assert.equal(made.trace(run()).spans.length, 1);
      assert.deepEqual(spansOf(made, MANY), []);
    }
    assert.equal(tracer({ sampler: failuresAnd(1), holdMs: 1, spans: 'beyond_workers' }).holdsTraces, false);
  });
});

describe('the bounds', () => {
  const other = (index: number, of: Partial<FinishedRun> = {}): FinishedRun => {
    const uuid = `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
    return run({ uuid, rootId: uuid, traceRootId: uuid, reportedMs: T0_MS + index, ...of });
  };

  test('bytes: the trace that was held longest is decided early', () => {
    const held = new HeldTraces(HOLD_MS, 50_000);
    const decided = Array.from({ length: 1000 }, (_, index) => held.add(other(index), undefined)).flat();
    assert.ok(held.bytes <= 50_000, `${held.bytes}`);
    assert.ok(decided.length > 900);
    assert.deepEqual(
      decided.map(({ finished, isEarly }) => [finished.reportedMs - T0_MS, isEarly]),
      decided.map((_, index) => [index, true]),
    );
    const rest = held.settle(MANY, MANY);
    assert.equal(decided.length + rest.length, 1000);
    assert.deepEqual([held.bytes, held.traces], [0, 0]);
  });

  test('texts count', () => {
    const error = { path: '', message: '', stacktrace: 'x'.repeat(30_000) };
    const held = new HeldTraces(HOLD_MS, 50_000);
    const long = [0, 1].flatMap((index) => held.add(other(index, { error }), undefined));
    assert.equal(long.length, 2);
    const workerSpan = { traceparent: 'x'.repeat(255), parentSpanId: 'x'.repeat(255) };
    const [plain, reported] = [{}, { workerSpan }].map((of) => {
      const one = new HeldTraces(HOLD_MS);
      one.add(other(0, of), undefined);
      return one.bytes;
    });
    assert.ok((reported ?? 0) >= (plain ?? 0) + 510, `${plain}, ${reported}`);
  });

  test('a trace whose runs never end leaves nothing behind once they are forgotten', () => {
    const held = new HeldTraces(HOLD_MS);
    held.opened(UUID, false, T0_MS);
    held.add(run({ outcome: 'retried', reportedMs: T0_MS }), undefined);
    held.closed(UUID, T0_MS);
    assert.equal(held.settle(T0_MS + HOLD_MS, MANY).length, 1);
    assert.equal(held.settle(T0_MS + 2 * HOLD_MS, MANY).length, 0);
    assert.equal(held.traces, 0);
  });

  test('tasks that wait in queues leave room for the traces of runs', () => {
    const held = new HeldTraces(HOLD_MS);
    for (let index = 0; index < 120_000; index += 1) held.opened(`queued-${index}`, false, T0_MS);
    assert.equal(held.traces, 50_000);
    assert.deepEqual(held.add(other(1), undefined), []);
  });

  test('a clock that was set back holds nothing for ever', () => {
    const held = new HeldTraces(HOLD_MS);
    held.add(other(1), undefined);
    assert.equal(held.settle(T0_MS - 1000, MANY).length, 0);
    assert.equal(held.settle(T0_MS - 3_600_000, MANY).length, 1);
  });

  test('long stack traces of one trace are redacted in portions', () => {
    const redacted: number[] = [];
    const made = tracer({ sampler: failuresAnd(0), holdMs: HOLD_MS, exceptionEvents: true });
    const error = { path: '', message: '', stacktrace: 'x'.repeat(8000) };
    for (let retries = 0; retries < 100; retries += 1)
      made.trace(run({ outcome: 'retried', retries, error }));
    made.trace(failed());
    for (let spans = 1; spans > 0; redacted.push(spans)) spans = made.decided(T0_MS, 1000).length;
    assert.equal(
      redacted.reduce((sum, spans) => sum + spans, 0),
      100,
    );
    assert.ok(Math.max(...redacted) <= 9, redacted.join());
  });

  test('what is decided early and dropped is counted', () => {
    const made = holding(0);
    const error = { path: '', message: '', stacktrace: 'x'.repeat(16_384) };
    for (let index = 0; index < 3000; index += 1) made.trace(other(index, { error }));
    assert.equal(made.takeDroppedEarly(), 0, 'what is not reported yet');
    made.decided(T0_MS, MANY);
    assert.ok(made.takeDroppedEarly() > 500);
    assert.equal(made.takeDroppedEarly(), 0);
  });

  test('one call decides only so many', () => {
    const held = new HeldTraces(HOLD_MS);
    for (let index = 0; index < 100; index += 1) held.add(other(index), undefined);
    // A trace counts as one more.
    assert.equal(held.settle(MANY, 30).length, 15);
    assert.equal(held.settle(MANY, MANY).length, 85);
  });
});
