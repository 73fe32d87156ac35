/** What workers told by remote control: in the view while they are up, and summed up for their queues. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WorkerStats } from '../../../src/celery/control-reply.ts';
import type { Cluster } from '../../../src/cluster/cluster.ts';
import type { Moment } from '../../../src/cluster/moment.ts';
import { received, SETTINGS, signal, started, succeeded, T0_MS, watch } from '../events.ts';

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
function noteAsked({ answers }: Pick<Cluster, 'answers'>, ageMs: number): void {
  answers.workersAsked(() => ageMs);
}

/** Workers that are up, and were asked. */
function asked(...nodenames: readonly string[]) {
  const watched = watch();
  const { cluster } = watched;
  for (const hostname of nodenames) cluster.apply(signal('worker-heartbeat', { hostname }), T0_MS);
  noteAsked(cluster, 250);
  return watched;
}

test('what a worker told is in its reading as long as it is up and the workers can be asked', () => {
  const { cluster } = asked(A);
  const reported = () => cluster.view(T0_MS).workers[0]?.reported;
  assert.equal(reported(), undefined);
  cluster.answers.workerReported(A, stats(), NOW);
  assert.deepEqual(reported(), { stats: stats(), ageMs: 0, utilization: 0 });
  assert.equal(cluster.view(T0_MS).reported?.ageMs, 250);
  cluster.answers.workersAsked(undefined);
  assert.equal(reported(), undefined);
  assert.equal(cluster.view(T0_MS).reported, undefined);
  noteAsked(cluster, 100);
  assert.equal(cluster.view(T0_MS + 20_100).workers[0]?.reported?.ageMs, 20_100, 'its own age');
  const goneMs = T0_MS + SETTINGS.workerTimeoutMs + 1;
  assert.equal(cluster.view(goneMs).workers[0]?.reported, undefined);
});

test('facts of an unknown worker, or of a process that is not known, are dropped; each process has its own', () => {
  const { cluster } = asked(A);
  cluster.answers.consumes(B, ['orders'], NOW);
  noteAsked(cluster, 0);
  assert.deepEqual(cluster.view(T0_MS).reported?.consumers, []);
  cluster.answers.workerReported(A, stats({ pid: 0 }), NOW);
  assert.equal(cluster.view(T0_MS).workers[0]?.reported, undefined);
  cluster.answers.workerReported(A, stats(), NOW);
  cluster.apply(signal('worker-heartbeat', { hostname: A, pid: 99 }), T0_MS + 1000);
  assert.equal(cluster.view(T0_MS + 1000).workers[0]?.reported, undefined, 'that of the process before');
  cluster.answers.workerReported(A, stats({ pid: 99 }), NOW);
  assert.equal(cluster.view(T0_MS + 1000).workers[0]?.reported?.stats.pid, 99);
});

test('a process with the same pid has told nothing of what the one before it told, but its worker keeps its pool', () => {
  const { cluster } = asked(A);
  cluster.answers.workerReported(A, stats(), NOW);
  cluster.answers.consumes(A, ['old'], NOW);
  cluster.apply(signal('worker-offline', { timestampMs: T0_MS + 1000, clock: 2 }), T0_MS + 1000);
  cluster.apply(signal('worker-online', { clock: 1, timestampMs: T0_MS + 5000 }), T0_MS + 5000);
  cluster.apply(received({ uuid: 'x', clock: 2, timestampMs: T0_MS + 6000 }), T0_MS + 6000);
  cluster.flush();
  const [worker] = cluster.view(T0_MS + 6000).workers;
  assert.deepEqual([worker?.reported, worker?.pool], [undefined, 'prefork']);
  assert.deepEqual(
    cluster.view(T0_MS + 7000).queues.flatMap(({ queue, waitingAgeS }) => (waitingAgeS > 0 ? [queue] : [])),
    ['unknown'],
  );
});

test('three of four busy processes are three quarters, by task events or by heartbeats, and never more than all', () => {
  const { cluster } = asked(A);
  cluster.answers.workerReported(A, stats(), NOW);
  const busy = () => cluster.view(T0_MS + 2000).workers[0]?.reported?.utilization;
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
  cluster.answers.workerReported(A, stats({ processes: undefined }), NOW);
  assert.equal(busy(), undefined);
});

test('a queue has its workers and their processes; it reads 0 after the last one, until it is forgotten', () => {
  const { cluster } = asked(A, B);
  cluster.answers.workerReported(A, stats(), NOW);
  cluster.answers.workerReported(B, stats({ processes: 2 }), NOW);
  cluster.answers.consumes(A, ['orders', 'mails'], NOW);
  cluster.answers.consumes(B, ['orders'], NOW);
  noteAsked(cluster, 0);
  const consumers = (nowMs: number) => cluster.view(nowMs).reported?.consumers;
  assert.deepEqual(consumers(T0_MS), [
    { queue: 'orders', workers: 2, processes: 6, utilization: 0 },
    { queue: 'mails', workers: 1, processes: 4, utilization: 0 },
  ]);
  cluster.answers.consumes(B, [], NOW);
  assert.deepEqual(consumers(T0_MS)?.[0], { queue: 'orders', workers: 1, processes: 4, utilization: 0 });
  const goneMs = T0_MS + SETTINGS.workerTimeoutMs + 1;
  assert.deepEqual(consumers(goneMs), [
    { queue: 'orders', workers: 0, processes: 0, utilization: undefined },
    { queue: 'mails', workers: 0, processes: 0, utilization: undefined },
  ]);
  assert.ok(cluster.answers.knownQueues(goneMs).includes('mails'));
  cluster.apply(signal('worker-heartbeat', { hostname: 'w3@shop', timestampMs: goneMs }), goneMs);
  const { consumers: known, unsure } = cluster.view(goneMs).reported ?? {};
  assert.deepEqual([known, unsure], [[], ['orders', 'mails']], 'it may consume them, and did not say');
  assert.deepEqual(consumers(T0_MS + SETTINGS.seriesRetentionMs + 1), []);
});

/** Two processes with one name. */
function twins() {
  const { cluster } = asked(A);
  const beat = (pid: number, ms: number, active = 0) => {
    const timestampMs = T0_MS + ms;
    cluster.apply(
      signal('worker-heartbeat', { hostname: A, pid, timestampMs, clock: -1, active }),
      timestampMs,
    );
  };
  return { cluster, beat, at: (ms: number): Moment => ({ wallMs: T0_MS + ms, listenedMs: T0_MS + ms }) };
}

test('of two processes with one name, one may be the first to reply each time: what was told last counts', () => {
  const { cluster, beat, at } = twins();
  const older = stats({ processes: 2 });
  const newer = stats({ pid: 99, processes: 3 });
  beat(99, 1000);
  beat(older.pid, 2000);
  noteAsked(cluster, 0);
  const reported = () => {
    const { workers, reported: all } = cluster.view(T0_MS + 3000);
    return [
      workers[0]?.reported?.stats.processes,
      all?.consumers.map(({ queue, workers: count }) => [queue, count]),
    ];
  };
  assert.deepEqual(reported(), [undefined, []]);
  cluster.answers.workerReported(A, older, at(2000));
  cluster.answers.consumes(A, ['orders'], NOW);
  noteAsked(cluster, 0);
  assert.deepEqual(reported(), [2, [['orders', 1]]], 'the newer one told nothing');
  cluster.answers.workerReported(A, newer, at(2100));
  assert.deepEqual(reported(), [3, [['orders', 1]]], 'which one consumes the queue, replies do not say');
  cluster.answers.consumes(A, ['mails'], NOW);
  noteAsked(cluster, 0);
  assert.deepEqual(reported(), [
    3,
    [
      ['orders', 1],
      ['mails', 1],
    ],
  ]);
  cluster.answers.workerReported(A, older, at(2200));
  assert.deepEqual(reported()[0], 2);
});

test('two processes with one name are as busy as both pools together, which are unknown until both have told', () => {
  const { cluster, beat, at } = twins();
  const pools = () => {
    const { workers, reported } = cluster.view(T0_MS + 3000);
    const { processes, utilization } = reported?.consumers[0] ?? {};
    return [workers[0]?.reported?.utilization, processes, utilization];
  };
  beat(17, 1000, 2);
  beat(99, 1000, 0);
  beat(17, 2000, 4);
  beat(99, 2000, 0);
  cluster.collect(T0_MS + 3000);
  cluster.answers.workerReported(A, stats(), at(2000));
  cluster.answers.consumes(A, ['orders'], at(2000));
  noteAsked(cluster, 0);
  assert.deepEqual(pools(), [undefined, 4, 1], 'which queues the other one consumes is not known either');
  cluster.answers.workerReported(A, stats({ pid: 99 }), at(2100));
  assert.deepEqual(pools(), [0.5, 8, 0.5]);
  cluster.answers.workerReported(A, stats({ pid: 99, processes: undefined }), at(2200));
  assert.deepEqual(pools(), [undefined, undefined, undefined]);
});

test('of two processes with one name, the one that left tells nothing more, though neither told its state', () => {
  const { cluster, beat, at } = twins();
  const queue = () => cluster.view(T0_MS + 60_000).reported?.consumers.map(({ workers }) => workers);
  beat(99, 1000);
  cluster.apply(
    signal('worker-offline', { hostname: A, pid: 99, timestampMs: T0_MS + 3000, clock: -1 }),
    T0_MS + 3000,
  );
  for (let ms = 2000; ms <= 60_000; ms += 2000) beat(17, ms);
  cluster.collect(T0_MS + 60_000);
  assert.ok(cluster.answers.consumes(A, ['orders'], at(60_000)));
  noteAsked(cluster, 0);
  assert.deepEqual(queue(), [1]);
});

test('where the pool of a worker is not known, the processes of its queues are not', () => {
  const { cluster } = asked(A);
  cluster.answers.workerReported(B, stats(), NOW);
  for (const worker of [A, B]) cluster.answers.consumes(worker, ['orders'], NOW);
  noteAsked(cluster, 0);
  assert.deepEqual(cluster.view(T0_MS).reported?.consumers, [
    { queue: 'orders', workers: 2, processes: undefined, utilization: undefined },
  ]);
});

type Telling = readonly [atS: number, uptimeS: number, cpuUserS: number, pid?: number];

/** The CPU time in the mode user that is counted of a worker that tells this so many seconds after T0. */
function userTimes(...reported: readonly Telling[]) {
  const { cluster, observed } = asked(A);
  for (const [atS, uptimeS, cpuUserS, pid = 17] of reported) {
    const at = { wallMs: T0_MS + atS * 1000, listenedMs: T0_MS + atS * 1000 };
    cluster.answers.workerReported(A, stats({ uptimeS, cpuUserS, cpuSystemS: undefined, pid }), at);
  }
  return observed.flatMap((it) => (it.kind === 'worker-cpu-used' ? [it.userS] : []));
}

test('CPU time is what was used since the worker was asked before; all of a process that started since', () => {
  assert.deepEqual(
    userTimes(
      [0, 100, 10],
      [15, 115, 12.5],
      // A clock that goes back is none.
      [30, 130, 12],
      [45, 4, 0.5, 18],
      [60, 2, 0.25, 18],
      [75, 17, 0.5, 18],
      // Another one with this name, that was there before.
      [90, 900, 7, 19],
      [105, 205, 13, 17],
    ),
    [0, 2.5, 0, 0.5, 0.25, 0.25, 0, 0.5],
  );
  const { cluster, observed } = asked(A);
  for (const cpuSystemS of [5, 6, undefined])
    cluster.answers.workerReported(A, stats({ cpuUserS: undefined, cpuSystemS }), NOW);
  assert.deepEqual(
    observed.flatMap((it) => (it.kind === 'worker-cpu-used' ? [[it.userS, it.systemS]] : [])),
    [
      [undefined, 0],
      [undefined, 1],
    ],
  );
});

test('a worker whose clock is set back has used no CPU time twice', () => {
  assert.deepEqual(userTimes([0, 5000, 300], [15, 4955, 301], [30, 4970, 302]), [0, 1, 1]);
});

test('after a gap all CPU time since counts', () => {
  assert.deepEqual(userTimes([0, 100, 10], [7200, 7300, 90], [14_400, 60, 3]), [0, 80, 3]);
});

test('of two processes with one name and pid, no CPU time counts twice, however old they are', () => {
  const sum = (...reported: readonly Telling[]) =>
    userTimes(...reported).reduce((total: number, each = 0) => total + each, 0);
  const both = (olderS: number) =>
    Array.from({ length: 20 }, (_, index) => {
      const atS = 15 * index;
      return index % 2 === 0
        ? ([atS, 100 + atS, 10 + index] as const)
        : ([atS, 100 + olderS + atS, 3600 + index] as const);
    });
  assert.ok(sum(...both(50_000)) < 40);
  assert.ok(sum(...both(0).slice(1)) < 40, 'that were started together');
});

test('a queue of a worker that is up stays known, though it does not reply for long', () => {
  const { cluster } = asked(A);
  cluster.answers.workerReported(A, stats(), NOW);
  cluster.answers.consumes(A, ['orders'], NOW);
  let atMs = T0_MS;
  for (let beat = 1; atMs < T0_MS + SETTINGS.seriesRetentionMs + 60_000; beat += 1) {
    atMs += 10_000;
    cluster.apply(signal('worker-heartbeat', { timestampMs: atMs, clock: 1 + beat }), atMs);
    cluster.collect(atMs);
  }
  cluster.collect(atMs);
  assert.deepEqual(
    cluster.view(atMs).reported?.consumers.map(({ queue }) => queue),
    ['orders'],
  );
});

test('a queue whose only worker died has no workers for as long as it is known, though nobody was asked for long', () => {
  const { cluster } = asked(A);
  cluster.answers.consumes(A, ['orders'], NOW);
  const consumers = (ms: number) => {
    cluster.collect(ms);
    return cluster.view(ms).reported?.consumers.map(({ queue, workers }) => [queue, workers]);
  };
  const lastMs = T0_MS + SETTINGS.seriesRetentionMs;
  cluster.apply(signal('worker-heartbeat', { timestampMs: lastMs - 1, clock: 2 }), lastMs - 1);
  assert.deepEqual(consumers(lastMs), [['orders', 1]]);
  const goneMs = lastMs + SETTINGS.workerTimeoutMs;
  assert.deepEqual(consumers(goneMs), [['orders', 0]]);
  assert.deepEqual(consumers(lastMs + SETTINGS.seriesRetentionMs), [['orders', 0]]);
  assert.deepEqual(consumers(lastMs + SETTINGS.seriesRetentionMs + 1), []);
});

test('queues are bounded for each worker, and for all together; what is beyond is counted', () => {
  const names = Array.from({ length: 99 }, (_, index) => `w${index}@shop`);
  const { cluster } = asked(...names, A);
  const queues = Array.from({ length: 1500 }, (_, index) => `queue-${index}`);
  cluster.answers.consumes(A, queues, NOW);
  assert.equal(cluster.beyondFixedBounds(), 500);
  cluster.answers.consumes(A, [], NOW);
  for (const name of names) cluster.answers.consumes(name, [...queues.slice(0, 1000)], NOW);
  noteAsked(cluster, 0);
  const consumers = cluster.view(T0_MS).reported?.consumers ?? [];
  assert.equal(consumers.length, 1000);
  assert.equal(consumers[0]?.workers, 99);
  const more = Array.from({ length: 5 }, (_, index) => `x${index}@shop`);
  for (const hostname of more) cluster.apply(signal('worker-heartbeat', { hostname }), T0_MS);
  for (const name of more) cluster.answers.consumes(name, queues.slice(0, 1000), NOW);
  assert.equal(cluster.beyondFixedBounds(), 500 + 4000);
});

test('a worker that has been forgotten has told nothing', () => {
  const { cluster } = asked(A);
  cluster.answers.workerReported(A, stats(), NOW);
  cluster.collect(T0_MS + SETTINGS.seriesRetentionMs + SETTINGS.workerTimeoutMs + 1);
  const backMs = T0_MS + 2 * SETTINGS.seriesRetentionMs;
  noteAsked(cluster, 0);
  cluster.apply(signal('worker-heartbeat', { clock: 50, timestampMs: backMs }), backMs);
  assert.equal(cluster.view(backMs).workers[0]?.reported, undefined);
});
