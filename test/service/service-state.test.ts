/** What is kept of the last view of a cluster, for whoever asks. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterView } from '../../src/cluster/observation.ts';
import { EventRates } from '../../src/service/service-state.ts';

test('names under which many tasks left their queue unseen are kept, and of a few nothing is said', async () => {
  const eventRates = new EventRates(() => 0);
  const after = async (left: ClusterView['left']) => {
    const view: ClusterView = { workers: [], queues: [], ends: [], ...(left && { left }) };
    await eventRates.keepingNumbers(
      () => Promise.resolve(view),
      () => 0,
    )();
    return eventRates.read(0).unseen;
  };
  assert.equal(await after([{ task: 'shop.purged', count: 9 }]), undefined);
  const both = [
    { task: 'shop.purged', count: 9 },
    { task: 'shop.quiet', count: 10 },
  ];
  assert.deepEqual(await after(both), ['shop.quiet']);
  assert.equal(await after(undefined), undefined);
});

test('the last success of a periodic task is kept, and of others nothing', async () => {
  const periods = [
    { task: 'shop.report', staleAfterS: 60 },
    { task: '4711', staleAfterS: 60 },
  ];
  const eventRates = new EventRates(() => 0, undefined, periods);
  const ends: ClusterView['ends'] = [
    { task: 'shop.report', end: 'failed', ageS: 1 },
    { task: 'shop.report', end: 'succeeded', ageS: 7 },
    { task: 'shop.pay', end: 'succeeded', ageS: 1 },
  ];
  assert.equal(eventRates.read(0).periodic, undefined, 'before the first collection');
  await eventRates.keepingNumbers(
    async () => ({ workers: [], queues: [], ends }),
    () => 0,
  )();
  assert.deepEqual(eventRates.read(0).periodic, [
    { task: 'shop.report', staleAfterS: 60, succeededAgoS: 7 },
    { task: '4711', staleAfterS: 60, succeededAgoS: undefined },
  ]);
});
