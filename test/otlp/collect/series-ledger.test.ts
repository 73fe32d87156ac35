import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Attributes } from '@opentelemetry/api';
import { AggregationTemporality } from '@opentelemetry/sdk-metrics';
import { KINDS_OF_STREAM, OVERFLOW, ofWorker, STREAMS } from './collected-stream.ts';

const { DELTA } = AggregationTemporality;

const frozen = (worker: string): Attributes => Object.freeze({ worker });

for (const kind of KINDS_OF_STREAM) {
  const make = STREAMS[kind];

  test(`${kind}: a retired series without changes ends at once, a changed one after it was collected`, () => {
    const { measure, read } = make();
    for (const worker of ['w1', 'w2', 'w3']) measure(1, frozen(worker));
    read();
    measure(2, frozen('w2'));
    assert.deepEqual(read(ofWorker('w1', 'w2')), [
      [{ worker: 'w2' }, 3],
      [{ worker: 'w3' }, 1],
    ]);
    assert.deepEqual(read(), [[{ worker: 'w3' }, 1]]);
  });

  test(`${kind}: a retired series stays until its measurements have been exported`, () => {
    const { measure, attemptTotals: attempt, exported } = make();
    const isRetired = ofWorker('w1');
    measure(1, frozen('w1'));
    assert.deepEqual(attempt(), [[{ worker: 'w1' }, 1]]);
    assert.deepEqual(attempt(isRetired), [[{ worker: 'w1' }, 1]], 'the export failed');
    assert.deepEqual(attempt(isRetired), [[{ worker: 'w1' }, 1]], 'it failed again');
    exported();
    assert.deepEqual(attempt(), []);
  });

  test(`${kind}: a retired series that is measured during its export goes on`, () => {
    const { measure, attemptTotals: attempt, exported } = make();
    measure(1, frozen('w1'));
    assert.deepEqual(attempt(ofWorker('w1')), [[{ worker: 'w1' }, 1]]);
    measure(2, frozen('w1'));
    exported();
    for (let interval = 0; interval < 3; interval += 1) {
      assert.deepEqual(attempt(), [[{ worker: 'w1' }, 3]], 'it has come back, and is retired no longer');
      exported();
    }
  });

  test(`${kind}: a new series counts as changed, even if it is 0`, () => {
    const { measure, read } = make();
    measure(0, frozen('w1'));
    assert.deepEqual(read(ofWorker('w1')), [[{ worker: 'w1' }, 0]]);
    assert.deepEqual(read(), []);
  });

  test(`${kind}: the overflow point never ends, and keeps its content`, () => {
    const { measure, read } = make({ limit: 2 });
    for (const worker of ['w1', 'w2']) measure(1, frozen(worker));
    read();
    const all = () => true;
    assert.deepEqual(read(all), [[OVERFLOW, 1]]);
    for (const worker of ['w3', 'w4']) measure(1, frozen(worker));
    assert.deepEqual(read(all), [
      [OVERFLOW, 2],
      [{ worker: 'w3' }, 1],
    ]);
    assert.deepEqual(read(), [[OVERFLOW, 2]]);
  });

  test(`${kind}: with delta temporality retiring has no effect`, () => {
    const { measure, read } = make({ temporality: DELTA });
    const attributes = frozen('w1');
    measure(1, attributes);
    assert.deepEqual(read(ofWorker('w1')), [[attributes, 1]]);
    assert.deepEqual(read(ofWorker('w1')), []);
    measure(2, attributes);
    assert.deepEqual(read(ofWorker('w1')), [[attributes, 2]]);
  });

  test(`${kind}: after a partly failed export, only points that arrived are settled`, () => {
    const { measure, attemptTotals, exported, tally } = make();
    const isRetired = ofWorker('w1', 'w2');
    for (const worker of ['w1', 'w2', 'w3']) measure(1, frozen(worker));
    assert.equal(attemptTotals(isRetired).length, 3);
    exported(1, 2);
    assert.equal(tally().retired, 1);
    assert.deepEqual(attemptTotals(isRetired), [
      [{ worker: 'w1' }, 1],
      [{ worker: 'w3' }, 1],
    ]);
    exported(0, 1);
    assert.deepEqual(attemptTotals(), [[{ worker: 'w3' }, 1]]);
    assert.deepEqual(tally(), { live: 1, retired: 2, unmarked: 0, overflowed: 0, refused: 0 });
  });

  test(`${kind}: with delta temporality, an unsent point is in the next export once, from its first start`, () => {
    let nowMs = 1000;
    const { measure, attempt, exported } = make({ temporality: DELTA, nowMs: () => nowMs });
    const spans = (points: ReturnType<typeof attempt>) =>
      points.map(({ attributes, total, startMs, endMs }) => [attributes['worker'], total, startMs, endMs]);
    for (const worker of ['w1', 'w2']) measure(1, frozen(worker));
    assert.deepEqual(spans(attempt(2000)), [
      ['w1', 1, 1000, 2000],
      ['w2', 1, 1000, 2000],
    ]);
    nowMs = 2500;
    measure(2, frozen('w1'));
    // Only the second one arrived.
    exported(1, 2);
    measure(4, frozen('w3'));
    assert.deepEqual(spans(attempt(3000)), [
      ['w1', 3, 1000, 3000],
      ['w3', 4, 2000, 3000],
    ]);
    assert.deepEqual(spans(attempt(4000)), [
      ['w1', 3, 1000, 4000],
      ['w3', 4, 2000, 4000],
    ]);
    exported();
    nowMs = 4500;
    measure(8, frozen('w1'));
    assert.deepEqual(spans(attempt(5000)), [['w1', 8, 4000, 5000]]);
    exported();
    assert.deepEqual(attempt(6000), []);
  });

  test(`${kind}: with delta temporality, an exported point is settled even if it was never read`, () => {
    const { measure, collected, attemptTotals } = make({ temporality: DELTA });
    measure(1, frozen('w1'));
    measure(1, frozen('w2'));
    collected()?.acknowledge(0, 1);
    measure(2, frozen('w1'));
    assert.deepEqual(attemptTotals(), [
      [{ worker: 'w2' }, 1],
      [{ worker: 'w1' }, 2],
    ]);
  });
}
