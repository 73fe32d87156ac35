/** Runs reported as one record each, for a subscriber. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CeleryEvent } from '../../src/celery/event.ts';
import { type Cluster, createCluster } from '../../src/cluster/cluster.ts';
import type { FinishedRun } from '../../src/cluster/observation.ts';
import { collectAt } from './collection.ts';
import {
  failed,
  received,
  retried,
  revoked,
  SETTINGS,
  sent,
  signal,
  started,
  succeeded,
  T0_MS,
  WORKER,
} from './events.ts';

const RUN = { task: 'shop.pay', queue: 'orders', worker: WORKER };
const LINEAGE = { rootId: 'r1', parentId: 'p1' };
const ENDED = { uuid: 'u1', ...LINEAGE, run: RUN, errorType: '' };

function finishedOf(
  story: readonly (readonly [atMs: number, event: CeleryEvent])[],
  after: (cluster: Cluster) => void = (cluster) => cluster.flush(),
): readonly FinishedRun[] {
  const finished: FinishedRun[] = [];
  const cluster = createCluster(
    SETTINGS,
    () => {},
    (run) => finished.push(run),
  );
  for (const [atMs, event] of story) {
    const timestampMs = T0_MS + atMs;
    cluster.apply({ ...event, timestampMs }, timestampMs, timestampMs);
  }
  after(cluster);
  return finished;
}

test('a run that ends is reported with its times, its root and its parent', () => {
  const ends = finishedOf([
    [0, sent()],
    [10, received({ lineage: LINEAGE })],
    [1_000, started()],
    [3_000, retried('TimeoutError')],
    [3_010, received({ retries: 1, lineage: { rootId: 'r1', parentId: '' } })],
    [4_000, started()],
    [5_000, failed('KeyError')],
  ]);
  assert.deepEqual(ends, [
    {
      ...ENDED,
      outcome: 'retried',
      errorType: 'TimeoutError',
      sentMs: T0_MS,
      receivedMs: T0_MS + 10,
      startedMs: T0_MS + 1_000,
      endedMs: T0_MS + 3_000,
    },
    {
      ...ENDED,
      parentId: '',
      outcome: 'failed',
      errorType: 'KeyError',
      sentMs: undefined,
      receivedMs: T0_MS + 3_010,
      startedMs: T0_MS + 4_000,
      endedMs: T0_MS + 5_000,
    },
  ]);
});

test('for a run with only a known end, nothing is made up', () => {
  const unknown = {
    rootId: '',
    parentId: '',
    sentMs: undefined,
    receivedMs: undefined,
    startedMs: undefined,
  };
  const run = { task: 'unknown', queue: 'unknown', worker: WORKER };
  assert.deepEqual(finishedOf([[0, succeeded()]]), [
    { ...ENDED, ...unknown, run, outcome: 'succeeded', endedMs: T0_MS },
  ]);
});

test('a run whose task-received was missed has the root and the parent of its task-sent', () => {
  const [end] = finishedOf([
    [0, sent({ lineage: LINEAGE })],
    [1_000, revoked({ expired: true })],
  ]);
  assert.deepEqual([end?.rootId, end?.parentId, end?.sentMs, end?.outcome], ['r1', 'p1', T0_MS, 'expired']);
});

test('data of a run is not reported with the next run that reuses its object', () => {
  const story = ['u1', 'u2'].flatMap((uuid, index): [number, CeleryEvent][] => [
    [index * 10_000, received(index === 0 ? { uuid, lineage: LINEAGE } : { uuid })],
    [index * 10_000 + 1, index === 0 ? started({ uuid }) : signal('worker-heartbeat')],
    [index * 10_000 + 2, succeeded({ uuid })],
  ]);
  const [, second] = finishedOf(story);
  const { uuid, rootId, startedMs, receivedMs } = second ?? {};
  assert.deepEqual([uuid, rootId, startedMs, receivedMs], ['u2', '', undefined, T0_MS + 10_000]);
});

test('a duplicate end is reported once', () => {
  const ends = finishedOf([
    [0, received()],
    [1, revoked({ terminated: true })],
    [2, revoked({ terminated: true, hostname: 'w2@shop' })],
    [3, failed('SystemExit')],
  ]);
  assert.deepEqual(
    ends.map(({ outcome }) => outcome),
    ['terminated'],
  );
});

test('a run that dies with its worker is reported as lost, and again if it ends after all', () => {
  const ends = finishedOf(
    [
      [0, received()],
      [1, started()],
      [2, signal('worker-heartbeat', { active: 1 })],
    ],
    (cluster) => {
      const deadMs = T0_MS + SETTINGS.lostTimeoutMs + 2_000;
      collectAt(cluster, deadMs);
      cluster.apply(succeeded({ timestampMs: T0_MS + 5 }), deadMs, deadMs);
      cluster.flush();
    },
  );
  assert.deepEqual(
    ends.map(({ outcome, startedMs, endedMs }) => [outcome, startedMs, endedMs]),
    [
      ['lost', T0_MS + 1, undefined],
      ['succeeded', T0_MS + 1, T0_MS + 5],
    ],
  );
});

test('its memory counts in the bytes of the table and of the window', () => {
  const longest = { rootId: 'r'.repeat(255), parentId: 'p'.repeat(255) };
  const bytesOf = (onFinished?: () => void): readonly number[] => {
    const cluster = createCluster(SETTINGS, () => {}, onFinished);
    const told = onFinished === undefined ? {} : { lineage: longest };
    cluster.apply(sent({ uuid: 'u2', ...told }), T0_MS, T0_MS);
    cluster.apply(received(told), T0_MS, T0_MS);
    const { bytes } = cluster.tables().reordering_window;
    cluster.flush();
    return [bytes, cluster.tables().tasks.bytes];
  };
  const [heldBytes = 0, taskBytes = 0] = bytesOf();
  const [held = 0, task = 0] = bytesOf(() => {});
  assert.ok(held - heldBytes >= 1_020 && task - taskBytes >= 2 * 1_020, `${held} ${task}`);
});
