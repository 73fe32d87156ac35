/**
 * Tasks that a worker told to be running, after a gap or a start: their ends have names, nothing is counted twice, and what
 * ended meanwhile is not lost.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ReportedTask, WorkerStats } from '../../../src/celery/control-reply.ts';
import type { Moment } from '../../../src/cluster/moment.ts';
import {
  failed,
  line,
  received,
  signal,
  started,
  succeeded,
  T0_MS,
  type Watched,
  WORKER,
  watch,
} from '../events.ts';
import { upAt } from '../stories.ts';

const STATS: WorkerStats = {
  ...{ pid: 17, pool: 'prefork', processes: 4, limit: 4, autoscaler: undefined, prefetchLimit: 16 },
  ...{ uptimeS: 5, cpuUserS: 1, cpuSystemS: 2, memoryMaxBytes: 3 },
  writes: [],
};
const LOST = 'lost shop.pay orders w1@shop';
const SUCCEEDED = 'succeeded shop.pay orders w1@shop 0.25s';

function at(atS: number): Moment {
  return { wallMs: T0_MS + atS * 1000, listenedMs: T0_MS + atS * 1000 };
}

/** A task that began so many seconds before the first event. */
function task(uuid: string, startedS = -5): ReportedTask {
  return { uuid, stage: 'started', name: 'shop.pay', queue: 'orders', sinceMs: T0_MS + startedS * 1000 };
}

/** What was counted of tasks since the last call. */
function news(on: Watched): readonly string[] {
  return on
    .news()
    .filter(({ kind }) => kind.startsWith('task-'))
    .map(line);
}

/** The worker tells its state, then its tasks. */
function report({ cluster }: Watched, atS: number, ...tasks: readonly ReportedTask[]): void {
  cluster.answers.workerReported(WORKER, STATS, at(atS));
  assert.ok(cluster.answers.workerRuns(WORKER, tasks, at(atS)));
}

function apply({ cluster }: Watched, atS: number, event: Parameters<Watched['cluster']['apply']>[0]): void {
  const ms = T0_MS + atS * 1000;
  cluster.apply({ ...event, timestampMs: event.timestampMs + atS * 1000, clock: 100 + atS }, ms);
}

/** Another process takes the place of the worker’s. */
function replace(on: Watched, atS: number): void {
  apply(on, atS, signal('worker-online', { pid: 18 }));
  upAt(on, atS + 15);
}

test('an end of a task that began before the start of listening has its names and its runtime', () => {
  const on = watch();
  report(on, 0, task('u1'), task('u2'), task('u3'));
  apply(on, 1, succeeded({ uuid: 'u1' }));
  apply(on, 2, failed('KeyError', { uuid: 'u2' }));
  on.cluster.flush();
  assert.deepEqual(news(on), [SUCCEEDED, 'failed shop.pay orders w1@shop KeyError 7s']);
  assert.deepEqual(upAt(on, 3), [[WORKER, true]]);
});

test('a task that was told is running until it ends, and is lost with its worker', () => {
  const on = watch();
  report(on, 0, task('u1'));
  const [queue] = on.cluster.view(T0_MS).queues;
  assert.deepEqual([queue?.queue, queue?.runningAgeS, queue?.waitingAgeS], ['orders', 5, 0]);
  replace(on, 5);
  assert.deepEqual(
    news(on).filter((each) => each.startsWith('lost')),
    [LOST],
  );
});

test('without a queue in its routing, the only queue of its worker is its queue; a name that is missing is unknown', () => {
  const on = watch();
  on.cluster.answers.workerReported(WORKER, STATS, at(0));
  on.cluster.answers.consumes(WORKER, ['mails'], at(0));
  report(on, 0, { ...task('u1'), queue: '' }, { ...task('u2'), name: '', queue: '', sinceMs: undefined });
  apply(on, 1, succeeded({ uuid: 'u1' }));
  apply(on, 1, failed('KeyError', { uuid: 'u2' }));
  on.cluster.flush();
  assert.deepEqual(news(on), [
    'succeeded shop.pay mails w1@shop 0.25s',
    'failed unknown mails w1@shop KeyError unmeasured',
  ]);
});

test('where a reply overtakes the events of a beginning, each is counted once', () => {
  for (const order of ['held', 'late'] as const) {
    const on = watch();
    apply(on, 0, signal('worker-heartbeat'));
    const begins = () => {
      apply(on, 1, received({ uuid: 'u1' }));
      apply(on, 1, started({ uuid: 'u1' }));
    };
    if (order === 'held') begins();
    report(on, 1, task('u1', 1));
    if (order === 'late') begins();
    apply(on, 3, succeeded({ uuid: 'u1' }));
    on.cluster.flush();
    assert.deepEqual(
      news(on).map((each) => each.split(' ').slice(0, 3).join(' ')),
      ['received shop.pay orders', 'started shop.pay orders', 'succeeded shop.pay orders'],
      order,
    );
    replace(on, 5);
    assert.deepEqual(
      news(on).filter((each) => each.startsWith('lost')),
      [],
      order,
    );
  }
});

test('where the end of a task overtakes the reply, it is over', () => {
  const on = watch();
  apply(on, 0, signal('worker-heartbeat'));
  apply(on, 0, received({ uuid: 'u1' }));
  apply(on, 0, started({ uuid: 'u1' }));
  apply(on, 1, succeeded({ uuid: 'u1' }));
  on.cluster.flush();
  news(on);
  report(on, 1, task('u1', 0));
  replace(on, 5);
  assert.deepEqual(
    news(on).filter((each) => each.startsWith('lost')),
    [],
  );
});

test('an end that waits for its name when the worker tells it gets it', () => {
  const on = watch();
  apply(on, 0, signal('worker-heartbeat'));
  apply(on, 0, succeeded({ uuid: 'u1' }));
  report(on, 0.1, task('u1'));
  on.cluster.flush();
  assert.deepEqual(news(on), [SUCCEEDED]);
});

test('after a gap, a task that its worker does not run any more is not lost with it, and one that it runs is', () => {
  const on = watch();
  apply(on, 0, signal('worker-heartbeat'));
  for (const uuid of ['ended', 'running']) {
    apply(on, 0, received({ uuid }));
    apply(on, 0, started({ uuid }));
  }
  on.cluster.flush();
  on.cluster.gap();
  news(on);
  report(on, 5, { ...task('running', 0), queue: '' });
  upAt(on, 6);
  assert.equal(on.cluster.view(T0_MS + 6000).workers[0]?.reported, undefined, 'it was not asked yet');
  replace(on, 8);
  assert.deepEqual(
    news(on).filter((each) => each.startsWith('lost')),
    ['lost shop.pay unknown w1@shop'],
  );
});

test('a task whose start was missed in a gap runs since the time that its worker tells', () => {
  const on = watch();
  apply(on, 0, signal('worker-heartbeat'));
  apply(on, 0, received({ uuid: 'u1' }));
  on.cluster.flush();
  on.cluster.gap();
  report(on, 5, task('u1', 2));
  apply(on, 6, failed('KeyError', { uuid: 'u1' }));
  on.cluster.flush();
  assert.deepEqual(news(on), [
    'received shop.pay unknown w1@shop',
    'failed shop.pay unknown w1@shop KeyError 4s',
  ]);
});

test('tasks that wait are told too: they have names when they start, and their waits are not measured', () => {
  const on = watch();
  report(on, 0);
  const waiting = { ...task('u1'), stage: 'waiting', sinceMs: undefined } as const;
  const scheduled = { ...task('u2'), stage: 'scheduled', sinceMs: T0_MS + 3000 } as const;
  assert.ok(on.cluster.answers.workerHas(WORKER, [waiting, scheduled], at(0)));
  const numbers = (atS: number) => {
    const [worker] = on.cluster.view(T0_MS + atS * 1000).workers;
    return [worker?.prefetched, worker?.scheduled];
  };
  assert.deepEqual(numbers(1), [1, 1]);
  assert.deepEqual(numbers(4), [2, 0], 'it is due');
  for (const uuid of ['u1', 'u2']) {
    apply(on, 4, started({ uuid }));
    apply(on, 5, succeeded({ uuid }));
  }
  on.cluster.flush();
  const all = on.news();
  const starts = all.flatMap((each) => (each.kind === 'task-started' ? [each] : []));
  assert.deepEqual(
    starts.map(({ run: { queue }, waitTimeS, prefetchTimeS }) => [queue, waitTimeS, prefetchTimeS]),
    [
      ['orders', undefined, undefined],
      ['orders', undefined, undefined],
    ],
  );
  assert.deepEqual(all.filter(({ kind }) => kind === 'task-succeeded').map(line), [SUCCEEDED, SUCCEEDED]);
  assert.deepEqual(numbers(6), [0, 0]);
});

test('after a gap, a task that is told to wait still waits; a reply that its start has overtaken changes nothing', () => {
  const on = watch();
  apply(on, 0, signal('worker-heartbeat'));
  apply(on, 0, received({ uuid: 'u1' }));
  on.cluster.flush();
  on.cluster.gap();
  news(on);
  report(on, 5);
  const prefetched = () => on.cluster.view(T0_MS + 5000).workers[0]?.prefetched;
  assert.equal(prefetched(), 0, 'not known: events were missed');
  const waiting = { ...task('u1'), stage: 'waiting', sinceMs: undefined } as const;
  assert.ok(on.cluster.answers.workerHas(WORKER, [waiting], at(5)));
  assert.equal(prefetched(), 1);
  apply(on, 6, started({ uuid: 'u1' }));
  on.cluster.flush();
  on.cluster.gap();
  report(on, 7, task('u1', 6));
  assert.ok(on.cluster.answers.workerHas(WORKER, [waiting], at(7)));
  assert.equal(prefetched(), 0);
  apply(on, 8, failed('KeyError', { uuid: 'u1' }));
  on.cluster.flush();
  assert.deepEqual(news(on), [
    'started shop.pay unknown w1@shop',
    'failed shop.pay unknown w1@shop KeyError 2s',
  ]);
  assert.equal(on.cluster.answers.workerHas('w9@shop', [waiting], at(8)), false);
});

test('a clock that is ahead gives no negative age, and an unknown worker has no tasks', () => {
  const on = watch();
  report(on, 0, task('u1', 3600));
  assert.equal(on.cluster.view(T0_MS).queues[0]?.runningAgeS, 0);
  assert.equal(on.cluster.answers.workerRuns('w9@shop', [task('u2')], at(0)), false);
  assert.equal(on.cluster.answers.workerRuns('gen12@shop', [task('u2')], at(0)), false);
  assert.equal(on.cluster.tables().tasks.size, 1);
});

test('a worker that replies is up though it sends no events, and is dead when it does not', () => {
  const on = watch();
  on.cluster.answers.workerReported(WORKER, STATS, at(0));
  assert.deepEqual(upAt(on, 29), [[WORKER, true]]);
  assert.deepEqual(upAt(on, 31), [[WORKER, false]]);
  on.cluster.answers.workerReported(WORKER, STATS, at(40));
  assert.deepEqual(upAt(on, 41), [[WORKER, true]]);
  on.cluster.answers.workerReported('gen12@shop', STATS, at(40));
  assert.deepEqual(upAt(on, 42), [[WORKER, true]]);
});

test('a killed worker of the pool prefork is known to be dead, though it was never seen to beat while it ran a task', () => {
  for (const [pool, lost] of [
    ['prefork', [LOST]],
    ['solo', []],
    ['gevent', []],
  ] as const) {
    const on = watch();
    apply(on, 0, signal('worker-heartbeat'));
    upAt(on, 2);
    on.cluster.answers.workerReported(WORKER, { ...STATS, pool }, at(2));
    assert.ok(on.cluster.answers.workerRuns(WORKER, [task('u1', 1)], at(2)));
    upAt(on, 123);
    assert.deepEqual(news(on), lost, pool);
  }
});
