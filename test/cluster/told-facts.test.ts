/** What workers told by remote control: in the view while they are up, and summed up for their queues. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WorkerStats } from '../../src/celery/control-reply.ts';
import type { Cluster } from '../../src/cluster/cluster.ts';
import type { Moment } from '../../src/cluster/moment.ts';
import { atOnce } from './at-once.ts';
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

/** All workers were asked that long ago. */
function noteAsked({ answers }: Pick<Cluster, 'answers'>, ageMs: number, nowMs: number): void {
  answers.workersAsked(() => ageMs);
  atOnce(answers.keepQueues(nowMs));
}

/** Workers that are up, and were asked. */
function asked(...nodenames: readonly string[]) {
  const watched = watch();
  const { cluster } = watched;
  for (const hostname of nodenames) cluster.apply(signal('worker-heartbeat', { hostname }), T0_MS);
  noteAsked(cluster, 250, T0_MS);
  return watched;
}

test('what a worker told is in its reading as long as it is up and the workers can be asked', () => {
  const { cluster } = asked(A);
  const told = () => cluster.view(T0_MS).workers[0]?.told;
  assert.equal(told(), undefined);
  cluster.answers.workerTold(A, stats(), NOW);
  assert.deepEqual(told(), { stats: stats(), ageMs: 0, utilization: 0 });
  assert.equal(cluster.view(T0_MS).told?.ageMs, 250);
  cluster.answers.workersAsked(undefined);
  assert.equal(told(), undefined);
  assert.equal(cluster.view(T0_MS).told, undefined);
  noteAsked(cluster, 0, T0_MS);
  assert.notEqual(told(), undefined);
  const goneMs = T0_MS + SETTINGS.workerTimeoutMs + 1;
  assert.equal(cluster.view(goneMs).workers[0]?.told, undefined);
});

test('facts of an unknown worker, or of a process that is not known, are dropped; each process has its own', () => {
  const { cluster } = asked(A);
  cluster.answers.consumes(B, ['orders']);
  noteAsked(cluster, 0, T0_MS);
  assert.deepEqual(cluster.view(T0_MS).told?.consumers, []);
  cluster.answers.workerTold(A, stats({ pid: 0 }), NOW);
  assert.equal(cluster.view(T0_MS).workers[0]?.told, undefined);
  cluster.answers.workerTold(A, stats(), NOW);
  cluster.apply(signal('worker-heartbeat', { hostname: A, pid: 99 }), T0_MS + 1000);
  assert.equal(cluster.view(T0_MS + 1000).workers[0]?.told, undefined, 'that of the process before');
  cluster.answers.workerTold(A, stats({ pid: 99 }), NOW);
  assert.equal(cluster.view(T0_MS + 1000).workers[0]?.told?.stats.pid, 99);
});

test('a process with the same pid has told nothing of what the one before it told, but its worker keeps its pool', () => {
  const { cluster } = asked(A);
  cluster.answers.workerTold(A, stats(), NOW);
  cluster.answers.consumes(A, ['old']);
  cluster.apply(signal('worker-offline', { timestampMs: T0_MS + 1000, clock: 2 }), T0_MS + 1000);
  cluster.apply(signal('worker-online', { clock: 1, timestampMs: T0_MS + 5000 }), T0_MS + 5000);
  cluster.apply(received({ uuid: 'x', clock: 2, timestampMs: T0_MS + 6000 }), T0_MS + 6000);
  cluster.flush();
  const [worker] = cluster.view(T0_MS + 6000).workers;
  assert.deepEqual([worker?.told, worker?.pool], [undefined, 'prefork']);
  assert.deepEqual(
    cluster.view(T0_MS + 6000).queues.map(({ queue }) => queue),
    ['unknown'],
  );
});

test('what a worker told has its own age', () => {
  const { cluster } = asked(A);
  cluster.answers.workerTold(A, stats(), NOW);
  noteAsked(cluster, 100, T0_MS + 20_000);
  assert.equal(cluster.view(T0_MS + 20_100).workers[0]?.told?.ageMs, 20_100);
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
  cluster.answers.consumes(A, ['orders', 'mails']);
  cluster.answers.consumes(B, ['orders']);
  noteAsked(cluster, 0, T0_MS);
  const consumers = (nowMs: number) => cluster.view(nowMs).told?.consumers;
  assert.deepEqual(consumers(T0_MS), [
    { queue: 'orders', workers: 2, processes: 6, utilization: 0 },
    { queue: 'mails', workers: 1, processes: 4, utilization: 0 },
  ]);
  cluster.answers.consumes(B, []);
  assert.deepEqual(consumers(T0_MS)?.[0], { queue: 'orders', workers: 1, processes: 4, utilization: 0 });
  const goneMs = T0_MS + SETTINGS.workerTimeoutMs + 1;
  assert.deepEqual(consumers(goneMs), [
    { queue: 'orders', workers: 0, processes: 0, utilization: undefined },
    { queue: 'mails', workers: 0, processes: 0, utilization: undefined },
  ]);
  assert.ok(cluster.answers.knownQueues(goneMs).includes('mails'));
  assert.deepEqual(consumers(T0_MS + SETTINGS.seriesRetentionMs + 1), []);
});

test('where the pool of a worker is not known, the processes of its queues are not', () => {
  const { cluster } = asked(A);
  cluster.answers.workerTold(B, stats(), NOW);
  for (const worker of [A, B]) cluster.answers.consumes(worker, ['orders']);
  noteAsked(cluster, 0, T0_MS);
  assert.deepEqual(cluster.view(T0_MS).told?.consumers, [
    { queue: 'orders', workers: 2, processes: undefined, utilization: undefined },
  ]);
});

test('CPU time is what was used since the worker was asked before; all of a process that started since', () => {
  const { cluster, observed } = asked(A);
  for (const told of [
    stats({ uptimeS: 100, cpuUserS: 10, cpuSystemS: 5 }),
    stats({ uptimeS: 115, cpuUserS: 12.5, cpuSystemS: 5 }),
    // A clock that goes back is none.
    stats({ uptimeS: 130, cpuUserS: 12, cpuSystemS: 6 }),
    stats({ uptimeS: 4, pid: 18, cpuUserS: 0.5, cpuSystemS: undefined }),
    stats({ uptimeS: 2, pid: 18, cpuUserS: 0.25, cpuSystemS: 3 }),
    stats({ uptimeS: 9, pid: 18, cpuUserS: undefined, cpuSystemS: undefined }),
    // Another one with this name, that was there before.
    stats({ uptimeS: 900, pid: 19, cpuUserS: 7, cpuSystemS: 7 }),
    stats({ uptimeS: 145, pid: 17, cpuUserS: 13, cpuSystemS: 6 }),
  ])
    cluster.answers.workerTold(A, told, NOW);
  assert.deepEqual(
    observed.flatMap((it) => (it.kind === 'worker-cpu-used' ? [[it.userS, it.systemS]] : [])),
    [
      [0, 0],
      [2.5, 0],
      [0, 1],
      [0.5, undefined],
      [0.25, 3],
      [0, 0],
      [1, 0],
    ],
  );
});

test('a queue of a worker that is up stays known, though it does not reply for long', () => {
  const { cluster } = asked(A);
  cluster.answers.workerTold(A, stats(), NOW);
  cluster.answers.consumes(A, ['orders']);
  let atMs = T0_MS;
  for (let beat = 1; atMs < T0_MS + SETTINGS.seriesRetentionMs + 60_000; beat += 1) {
    atMs += 10_000;
    cluster.apply(signal('worker-heartbeat', { timestampMs: atMs, clock: 1 + beat }), atMs);
    noteAsked(cluster, 0, atMs);
  }
  cluster.collect(atMs);
  assert.deepEqual(
    cluster.view(atMs).told?.consumers.map(({ queue }) => queue),
    ['orders'],
  );
});

test('queues are bounded for each worker, and for all together; what is beyond is counted', () => {
  const names = Array.from({ length: 99 }, (_, index) => `w${index}@shop`);
  const { cluster } = asked(...names, A);
  const queues = Array.from({ length: 1500 }, (_, index) => `queue-${index}`);
  cluster.answers.consumes(A, queues);
  assert.equal(cluster.beyondFixedBounds(), 500);
  cluster.answers.consumes(A, []);
  for (const name of names) cluster.answers.consumes(name, [...queues.slice(0, 1000)]);
  noteAsked(cluster, 0, T0_MS);
  const consumers = cluster.view(T0_MS).told?.consumers ?? [];
  assert.equal(consumers.length, 1000);
  assert.equal(consumers[0]?.workers, 99);
  const more = Array.from({ length: 5 }, (_, index) => `x${index}@shop`);
  for (const hostname of more) cluster.apply(signal('worker-heartbeat', { hostname }), T0_MS);
  for (const name of more) cluster.answers.consumes(name, queues.slice(0, 1000));
  assert.equal(cluster.beyondFixedBounds(), 500 + 4000);
});

test('a worker that has been forgotten has told nothing', () => {
  const { cluster } = asked(A);
  cluster.answers.workerTold(A, stats(), NOW);
  cluster.collect(T0_MS + SETTINGS.seriesRetentionMs + SETTINGS.workerTimeoutMs + 1);
  const backMs = T0_MS + 2 * SETTINGS.seriesRetentionMs;
  noteAsked(cluster, 0, T0_MS);
  cluster.apply(signal('worker-heartbeat', { clock: 50, timestampMs: backMs }), backMs);
  assert.equal(cluster.view(backMs).workers[0]?.told, undefined);
});
