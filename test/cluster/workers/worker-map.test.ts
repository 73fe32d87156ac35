import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WorkerMap } from '../../../src/cluster/workers/worker-map.ts';
import { fc } from '../../seed.ts';

const MAX = 4;

function namesIn(workers: WorkerMap): readonly string[] {
  return Array.from(workers.all(), ({ nodename }) => nodename);
}

test('an empty map has no workers, and evicts none', () => {
  const workers = new WorkerMap(MAX);
  workers.keepBounds();
  assert.deepEqual([workers.size, workers.bytes, workers.evicted, namesIn(workers)], [0, 0, 0, []]);
  assert.equal(workers.peek('a@h'), undefined);
});

test('a worker may be forgotten during iteration', () => {
  const workers = new WorkerMap(MAX);
  for (const name of ['a', 'b', 'c', 'd']) workers.use(name);
  for (const worker of workers.all()) if ('ac'.includes(worker.nodename)) workers.forget(worker, 'retired');
  assert.deepEqual(namesIn(workers), ['b', 'd']);
  assert.deepEqual(workers.takeForgotten(), ['a', 'c']);
});

type Step = readonly ['use' | 'forget', string];

/** A Map re-inserted into has the same order, only slower. */
function model(steps: readonly Step[]): readonly string[] {
  const map = new Map<string, true>();
  for (const [what, key] of steps) {
    const [oldest] = map.keys();
    if (what === 'use' && !map.has(key) && map.size === MAX && oldest !== undefined) map.delete(oldest);
    map.delete(key);
    if (what === 'use') map.set(key, true);
  }
  return [...map.keys()];
}

test('any operations leave the same workers in the same order as a Map with re-insertion', () => {
  const step = fc.tuple(
    fc.constantFrom('use', 'use', 'forget'),
    fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', '__proto__', 'constructor'),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const workers = new WorkerMap(MAX);
      for (const [what, name] of steps) {
        const known = workers.peek(name);
        if (what === 'use') assert.equal(workers.use(name)?.nodename, name);
        else if (known !== undefined) workers.forget(known, 'retired');
      }
      const expected = model(steps);
      assert.deepEqual(namesIn(workers), expected);
      assert.equal(workers.size, expected.length);
    }),
    { numRuns: 2_000 },
  );
});
