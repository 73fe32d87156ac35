/** Exemplars of a stream: on the point of their series, within its time, and until they have been exported. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Attributes } from '@opentelemetry/api';
import { AggregationTemporality } from '@opentelemetry/sdk-metrics';
import { KINDS_OF_STREAM, OVERFLOW, ofWorker, STREAMS, type StreamOptions } from './collected-stream.ts';

const { CUMULATIVE, DELTA } = AggregationTemporality;
const W1 = { worker: 'w1' };
const span = (id: number) => ({
  traceId: id.toString(16).padStart(32, '0'),
  spanId: id.toString(16).padStart(16, '0'),
  attributes: {},
});
const BOTH = { cumulative: CUMULATIVE, delta: DELTA } as const;

for (const kind of KINDS_OF_STREAM) {
  /** A stream with a clock, and its exemplars: of each point those ids that its spans were made of. */
  const open = (options: StreamOptions = {}) => {
    const clock = { nowMs: 1000 };
    const stream = STREAMS[kind]({ nowMs: () => clock.nowMs, ...options });
    const ids = (): readonly (readonly [Attributes, ...number[]])[] =>
      stream
        .exemplars()
        .map(([attributes, exemplars]) => [
          attributes,
          ...exemplars.map(({ context }) => Number.parseInt(context.traceId, 16)),
        ]);
    return { ...stream, clock, ids };
  };

  for (const [name, temporality] of Object.entries(BOTH)) {
    test(`${kind}: exemplars are on the point of the series that was measured, once (${name})`, () => {
      const { bind, bindExemplars, attempt, exported, ids } = open({ temporality });
      for (const worker of ['w1', 'w2']) bind({ worker })(1);
      bindExemplars(W1)(1, span(7));
      attempt(2000);
      assert.deepEqual(ids(), [[W1, 7], [{ worker: 'w2' }]]);
      exported();
      for (const worker of ['w1', 'w2']) bind({ worker })(1);
      attempt(3000);
      assert.deepEqual(ids(), [[W1], [{ worker: 'w2' }]]);
    });

    test(`${kind}: those of a failed export are in the next one, and none is lost in between (${name})`, () => {
      const { bind, bindExemplars, attempt, exported, ids, clock } = open({ temporality });
      const [measure, offer] = [bind(W1), bindExemplars(W1)];
      measure(1);
      offer(1, span(1));
      attempt(2000);
      clock.nowMs = 2100;
      attempt(2200);
      assert.deepEqual(ids(), [[W1, 1]]);
      clock.nowMs = 2300;
      measure(5);
      offer(5, span(2));
      // What arrived is what was collected, not what came afterwards.
      exported();
      attempt(3000);
      assert.deepEqual(ids(), [[W1, 2]]);
      exported();
    });

    test(`${kind}: each lies within its point, whatever happened to the clock (${name})`, () => {
      const { bind, bindExemplars, attempt, exemplars, clock } = open({ temporality });
      const [measure, offer] = [bind(W1), bindExemplars(W1)];
      for (const nowMs of [1000, 1500, 1_000_000, 1600]) {
        clock.nowMs = nowMs;
        measure(nowMs);
        offer(nowMs, span(nowMs));
      }
      const [point] = attempt(2000);
      assert.ok(point !== undefined);
      const [[, of] = [{}, []]] = exemplars();
      assert.ok(of.length > 0 && of.length <= 3);
      for (const { timeMs } of of) assert.ok(timeMs >= point.startMs && timeMs <= point.endMs, `${timeMs}`);
    });
  }

  test(`${kind}: of an export in several requests, what arrived is not sent again, and the rest is`, () => {
    const { bind, bindExemplars, attempt, exported, ids } = open({ temporality: DELTA });
    for (const worker of ['w1', 'w2']) {
      bind({ worker })(1);
      bindExemplars({ worker })(1, span(Number(worker.slice(1))));
    }
    attempt(2000);
    exported(0, 1);
    for (const worker of ['w1', 'w2']) bind({ worker })(1);
    attempt(3000);
    assert.deepEqual(ids(), [[{ worker: 'w2' }, 2], [W1]], 'the first one began anew');
  });

  test(`${kind}: a series that has ended takes none, and one that begins anew does not inherit any`, () => {
    const { bind, bindExemplars, collect, attempt, ids } = open();
    const [measure, offer] = [bind(W1), bindExemplars(W1)];
    measure(1);
    offer(1, span(3));
    collect(2000);
    collect(3000, ofWorker('w1'));
    offer(1, span(1));
    measure(1);
    attempt(4000);
    assert.deepEqual(ids(), [[W1]]);
    offer(1, span(2));
    attempt(5000);
    assert.deepEqual(ids(), [[W1, 2]]);
  });

  test(`${kind}: what overflowed has its exemplars on the overflow`, () => {
    const { bind, bindExemplars, attempt, ids } = open({ limit: 2 });
    for (const worker of ['w1', 'w2']) {
      bind({ worker })(1);
      bindExemplars({ worker })(1, span(Number(worker.slice(1))));
    }
    attempt(2000);
    assert.deepEqual(ids(), [
      [W1, 1],
      [OVERFLOW, 2],
    ]);
  });
}
