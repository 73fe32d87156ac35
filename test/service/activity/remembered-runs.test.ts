/** The last runs and failures of a service, found by id or task, within bounds whatever the ids and texts are. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type RememberedRun, RememberedRuns } from '../../../src/service/activity/remembered-runs.ts';
import type { FinishedRun } from '../../../src/tracer/ancestry/finished.ts';
import { atOnce } from '../../cluster/at-once.ts';
import { finishedRun } from './finished-run.ts';

function failure(uuid: string, chars = 10, more: Partial<FinishedRun> = {}): FinishedRun {
  const error = { path: 'KeyError', message: uuid, stacktrace: 'x'.repeat(chars) };
  return finishedRun(uuid, { outcome: 'failed', errorType: 'KeyError', error, ...more });
}

function idsOf(runs: RememberedRuns): readonly string[] {
  const ids: string[] = [];
  atOnce(runs.each('queue', 'orders', ({ id }) => ids.push(id)));
  return ids;
}

function ofId(runs: RememberedRuns, id: string): readonly RememberedRun[] {
  const found: RememberedRun[] = [];
  atOnce(runs.each('id', id, (run) => found.push(run)));
  return found;
}

test('the newest runs are remembered, and the others are gone from everywhere', () => {
  const runs = new RememberedRuns(3);
  for (const id of ['a', 'b', 'a', 'c', 'd', '7', '7']) runs.add(finishedRun(id));
  assert.deepEqual(idsOf(runs), ['7', '7', 'd']);
  assert.equal(runs.size, 3);
  assert.deepEqual(ofId(runs, 'a'), []);
  assert.equal(ofId(runs, '7').length, 2);
  assert.equal(ofId(runs, '__proto__').length, 0);
});

test('ids of any form are kept as they are, with all else that is known', () => {
  const runs = new RememberedRuns(1_000);
  const ids = [
    '0b1f1e2a-8a5c-4a3e-9d64-2f1f3f0c9a11',
    'order-4711',
    '7',
    'x'.repeat(255),
    'ünïcode',
    '0B1F1E2A-8A5C-4A3E-9D64-2F1F3F0C9A11',
  ];
  for (const rootId of ['', ...ids])
    for (const id of ids)
      runs.add(
        finishedRun(id, {
          rootId,
          parentId: rootId,
          parentPlace: { retries: 3, delivery: 1 },
          retries: 2,
          delivery: 70_000,
        }),
      );
  for (const id of ids) {
    const found = ofId(runs, id);
    assert.deepEqual(
      found.map(({ rootId }) => rootId),
      ['', ...ids].toReversed(),
    );
    const [{ run, ...last } = { run: undefined }] = found;
    assert.equal(run?.task, 'shop.pay');
    assert.deepEqual(last, {
      ...{ id, rootId: ids.at(-1), parentId: ids.at(-1), parentPlace: { retries: 3, delivery: 1 } },
      ...{ retries: 2, delivery: 65_535, outcome: 'succeeded', errorType: '' },
      ...{ sentMs: undefined, receivedMs: 1, startedMs: 2, endedMs: 3, waitTimeS: 1, runtimeS: 0.5 },
    });
  }
});

test('neither arguments nor results are kept', () => {
  const runs = new RememberedRuns(3);
  runs.add(failure('a'));
  assert.doesNotMatch(JSON.stringify([ofId(runs, 'a'), runs.failuresOf('shop.pay')]), /secret/u);
});

test('runs may be added while they are walked: what is forgotten meanwhile is not seen, nor what is new', () => {
  const runs = new RememberedRuns(25_000);
  for (let index = 0; index < 25_000; index += 1) runs.add(finishedRun(`u${index}`, { endedMs: index }));
  const seen: string[] = [];
  const steps = runs.each('task', 'shop.pay', ({ id, endedMs }) => seen.push(`${id} ${endedMs}`));
  for (const _ of steps) for (let index = 0; index < 4_000; index += 1) runs.add(finishedRun('new'));
  assert.equal(seen.length, 5_000);
  assert.deepEqual(
    seen,
    Array.from({ length: seen.length }, (_, index) => `u${24_999 - index} ${24_999 - index}`),
  );
});

test('of each outcome of a task the last failures are kept, the newest first', () => {
  const runs = new RememberedRuns(100);
  for (let index = 0; index < 8; index += 1) {
    runs.add(failure(`f${index}`));
    runs.add(failure(`r${index}`, 10, { outcome: 'retried' }));
  }
  runs.add(failure('other', 10, { run: { task: 'other', queue: 'q', worker: 'w' } }));
  const ids = runs.failuresOf('shop.pay').map(({ of }) => of.id);
  assert.deepEqual(ids, ['r7', 'f7', 'r6', 'f6', 'r5', 'f5', 'r4', 'f4', 'r3', 'f3']);
  const [found] = ofId(runs, 'other');
  assert.equal(found && runs.failureOf(found)?.error.message, 'other');
  const [old] = ofId(runs, 'f0');
  assert.equal(old && runs.failureOf(old), undefined);
});

test('long ids and texts take the room of several, and never more than all have', () => {
  const runs = new RememberedRuns(100);
  for (let index = 0; index < 100; index += 1) runs.add(finishedRun(`${index}${'x'.repeat(2_000)}`));
  assert.ok(runs.size >= 2 && runs.size < 10, String(runs.size));
  for (let index = 0; index < 2_000; index += 1) {
    const task = { task: `t${index}`, queue: 'q', worker: 'w' };
    runs.add(failure(`f${index}`, 64_000, { run: task }));
  }
  const kept = Array.from({ length: 2_000 }, (_, index) => runs.failuresOf(`t${index}`).length);
  assert.ok(kept.reduce((sum, each) => sum + each, 0) <= 66);
  assert.equal(kept.at(-1), 1);
});

test('with a limit of 0 nothing is kept', () => {
  const runs = new RememberedRuns(0);
  runs.add(failure('a'));
  assert.deepEqual([runs.size, ofId(runs, 'a'), runs.failuresOf('shop.pay')], [0, [], []]);
});
