/** What workers told by remote control: in the view while they are up, and summed up for their queues. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WorkerStats } from '../../src/celery/control-reply.ts';
import type { Moment } from '../../src/cluster/moment.ts';
import { received, SETTINGS, signal, started, succeeded, T0_MS, watch } from './events.ts';

const A = 'w1@shop';
const B = 'w2@shop';
const NOW: Moment = { wallMs: T0_MS, listenedMs: T0_MS };

function stats(more: Partial<WorkerStats> = {}): WorkerStats {
  return {
    ...{ pid: 17, pool: 'prefork', processes: 4, limit: 4, autoscaler: undefined, prefetchLimit: 16 },
    ...{ uptimeS: 5, cpuUserS: 1, cpuSystemS: 2, memoryMaxBytes: 3, writes: [], ...more },
  };
}

/** Workers that are up, and were asked. */
function asked(...nodenames: readonly string[]) {
  const watched = watch();
  const { cluster } = watched;
  for (const hostname of nodenames) cluster.apply(signal('worker-heartbeat', { hostname }), T0_MS);
  cluster.answers.workersAsked(() => 250);
  return watched;
}

test('what a worker told is in its reading as long as it is up and the workers can be asked', () => {
  const { cluster } = asked(A);
  const told = () => cluster.view(T0_MS).workers[0]?.told;
  assert.equal(told(), undefined);
  cluster.answers.workerTold(A, stats(), NOW);
  assert.deepEqual(told(), { stats: stats(), utilization: 0 });
  assert.equal(cluster.view(T0_MS).told?.ageMs, 250);
  cluster.answers.workersAsked(undefined);
  assert.equal(told(), undefined);
  assert.equal(cluster.view(T0_MS).told, undefined);
  cluster.answers.workersAsked(() => 0);
  assert.notEqual(told(), undefined);
  const goneMs = T0_MS + SETTINGS.workerTimeoutMs + 1;
  assert.equal(cluster.view(goneMs).workers[0]?.told, undefined);
});

test('facts of an unknown worker, and of a process that has ended, are of no use', () => {
  const { cluster } = asked(A);
  cluster.answers.consumes(B, ['orders'], T0_MS);
  assert.deepEqual(cluster.view(T0_MS).told?.consumers, []);
  cluster.answers.workerTold(A, stats({ pid: 0 }), NOW);
  assert.equal(cluster.view(T0_MS).workers[0]?.told, undefined);
  cluster.apply(signal('worker-heartbeat', { hostname: A, pid: 99 }), T0_MS + 1000);
  cluster.answers.workerTold(A, stats({ pid: 99 }), NOW);
  assert.equal(cluster.view(T0_MS + 1000).workers[0]?.told?.stats.pid, 99);
});

test('three of four busy processes are three quarters, by task events or by heartbeats, and never more than all', () => {
  const { cluster } = asked(A);
  cluster.answers.workerTold(A, stats(), NOW);
  const busy = () => cluster.view(T0_MS + 2000).workers[0]?.told?.utilization;
  for (const uuid of ['a', 'b', 'c']) {
    cluster.apply(received({ uuid }), T0_MS);
    cluster.apply(started({ uuid }), T0_MS);
  }
  cluster.flush();
  assert.equal(busy(), 0.75);
  cluster.apply(succeeded({ uuid: 'a' }), T0_MS + 1000);
  cluster.flush();
  assert.equal(busy(), 0.5);
  cluster.apply(signal('worker-heartbeat', { active: 9, clock: 9, timestampMs: T0_MS + 1000 }), T0_MS + 1000);
  cluster.flush();
  assert.equal(busy(), 1);
  cluster.answers.workerTold(A, stats({ processes: undefined }), NOW);
  assert.equal(busy(), undefined);
});

test('a queue has its workers and their processes; it reads 0 after the last one, until it is forgotten', () => {
  const { cluster } = asked(A, B);
  cluster.answers.workerTold(A, stats(), NOW);
  cluster.answers.workerTold(B, stats({ processes: 2 }), NOW);
  cluster.answers.consumes(A, ['orders', 'mails'], T0_MS);
  cluster.answers.consumes(B, ['orders'], T0_MS);
  const consumers = (nowMs: number) => cluster.view(nowMs).told?.consumers;
  assert.deepEqual(consumers(T0_MS), [
    { queue: 'orders', workers: 2, processes: 6, utilization: 0 },
    { queue: 'mails', workers: 1, processes: 4, utilization: 0 },
  ]);
  cluster.answers.consumes(B, [], T0_MS);
  assert.deepEqual(consumers(T0_MS)?.[0], { queue: 'orders', workers: 1, processes: 4, utilization: 0 });
  const goneMs = T0_MS + SETTINGS.workerTimeoutMs + 1;
  assert.deepEqual(consumers(goneMs), [
    { queue: 'orders', workers: 0, processes: 0, utilization: undefined },
    { queue: 'mails', workers: 0, processes: 0, utilization: undefined },
  ]);
  assert.ok(cluster.answers.knownQueues(goneMs).includes('mails'));
  assert.deepEqual(consumers(T0_MS + SETTINGS.seriesRetentionMs + 1), []);
});

test('a worker of which only the queues are known counts as a worker without processes', () => {
  const { cluster } = asked(A);
  cluster.answers.consumes(A, ['orders'], T0_MS);
  assert.deepEqual(cluster.view(T0_MS).told?.consumers, [
    { queue: 'orders', workers: 1, processes: 0, utilization: undefined },
  ]);
});

test('CPU time is what was used since the worker was asked before; all of a process that took its place', () => {
  const { cluster, observed } = asked(A);
  for (const told of [
    stats({ cpuUserS: 10, cpuSystemS: 5 }),
    stats({ cpuUserS: 12.5, cpuSystemS: 5 }),
    // A clock that goes back is none.
    stats({ cpuUserS: 12, cpuSystemS: 6 }),
    stats({ pid: 18, cpuUserS: 0.5, cpuSystemS: undefined }),
    stats({ pid: 18, cpuUserS: undefined, cpuSystemS: 3 }),
  ])
    cluster.answers.workerTold(A, told, NOW);
  assert.deepEqual(
    observed.flatMap((it) => (it.kind === 'worker-cpu-used' ? [[it.userS, it.systemS]] : [])),
    [
      [0, 0],
      [2.5, 0],
      [0, 1],
      [0.5, 0],
      [0, 0],
    ],
  );
});

test('queues are bounded for all workers together, and what is beyond is counted', () => {
  const names = Array.from({ length: 99 }, (_, index) => `w${index}@shop`);
  const { cluster } = asked(...names);
  const queues = Array.from({ length: 2000 }, (_, index) => `queue-${index}`);
  for (const name of names) cluster.answers.consumes(name, queues, T0_MS);
  const consumers = cluster.view(T0_MS).told?.consumers ?? [];
  assert.equal(consumers.length, 2000);
  assert.equal(consumers[0]?.workers, 50);
  assert.ok(cluster.beyondFixedBounds() >= 49);
});

test('a worker that has been forgotten has told nothing', () => {
  const { cluster } = asked(A);
  cluster.answers.workerTold(A, stats(), NOW);
  cluster.collect(T0_MS + SETTINGS.seriesRetentionMs + SETTINGS.workerTimeoutMs + 1);
  const backMs = T0_MS + 2 * SETTINGS.seriesRetentionMs;
  cluster.answers.workersAsked(() => 0);
  cluster.apply(signal('worker-heartbeat', { clock: 50, timestampMs: backMs }), backMs);
  assert.equal(cluster.view(backMs).workers[0]?.told, undefined);
});
