/** The cache of the series of runs: each is looked up once, within a limit. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { RunIdentity } from '../../src/cluster/observation.ts';
import { METRIC_NAMES } from '../../src/meter/catalog.ts';
import { createRecorder } from '../../src/meter/recorder.ts';
import { collectingMeter } from './collecting.ts';

/** The number of lookups while this many runs with long names are received. */
function lookups(t: TestContext): (runs: number) => number {
  const { meter } = collectingMeter(t);
  let bound = 0;
  const bind = () => {
    bound += 1;
    return { add: () => {}, record: () => {} };
  };
  t.mock.method(meter, 'createCounter', () => ({ add: () => {}, bind }));
  t.mock.method(meter, 'createHistogram', () => ({ record: () => {}, bind }));
  const { record } = createRecorder(meter, () => ({ workers: [], forgotten: [], queues: [], ends: [] }), {
    metrics: new Set(METRIC_NAMES),
    optIns: new Set(),
  });
  const identities: RunIdentity[] = [];
  return (runs) => {
    const before = bound;
    for (let index = 0; index < runs; index += 1) {
      identities[index] ??= { task: `${index} `.padEnd(150, 't'), queue: 'orders', worker: 'w1@shop' };
      const run = identities[index] ?? assert.fail();
      record({ kind: 'task-received', run, queueTimeS: 1 });
      record({ kind: 'task-failed', run, errorType: 'KeyError', runtimeS: 1 });
    }
    return bound - before;
  };
}

test('each series of 15,000 names of 150 characters is looked up once, however often it is used', (t) => {
  const lookupsOf = lookups(t);
  assert.equal(lookupsOf(15_000), 4 * 15_000);
  assert.equal(lookupsOf(15_000), 0);
});

test('cached identities are bounded: beyond the limit all are looked up anew', (t) => {
  const lookupsOf = lookups(t);
  lookupsOf(30_000);
  assert.equal(lookupsOf(10_000), 4 * 10_000);
});
