/** Each end of a run is told once, with all that is known of the run. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CeleryEvent } from '../../../src/celery/event.ts';
import type { FinishedRun } from '../../../src/tracer/ancestry/finished.ts';
import {
  cancelled,
  failed,
  received,
  rejected,
  retried,
  revoked,
  SETTINGS,
  sent,
  signal,
  started,
  succeeded,
  T0_MS,
  WORKER,
  watch,
} from '../../cluster/events.ts';
import {
  at,
  briefly,
  type Listening,
  listening,
  report,
  runs,
  runsOf,
  type Story,
  sendings,
} from '../../cluster/listening.ts';
import { heartbeats, running, report as tell } from '../../cluster/stories.ts';
import { inTurn } from './in-turn.ts';

const RUN = { task: 'shop.pay', queue: 'orders', worker: WORKER };
const EXTRAS = { lineage: { rootId: 'r1', parentId: 'p1' } };
const HOUR_MS = 3_600_000;

/** What was told of runs, in short. */
const told = (on: Listening): readonly string[] => runs(on).map(briefly);

/** Tells of these heartbeats every four seconds, and collects a second after each time. */
function beating(on: Listening, fromMs: number, untilMs: number, ...beats: readonly CeleryEvent[]): void {
  for (let atMs = fromMs; atMs < untilMs; atMs += 4_000) {
    report(
      on,
      beats.map((beat) => [atMs, beat] as const),
    );
    on.cluster.collect(T0_MS + atMs + 1_000);
  }
}

/** Has listened to the story. */
function after(story: Story, ...how: Parameters<typeof listening>): Listening {
  const on = listening(...how);
  report(on, story);
  return on;
}

test('a run that ends is told with its times, its sending, its root and its parent', () => {
  const error = { path: 'shop.KeyError', message: 'k', stacktrace: 'Traceback' };
  const [retry, end] = runsOf([
    [0, sent({ extras: { ...EXTRAS, exchange: 'x' } })],
    [10, received({ extras: EXTRAS })],
    [1_000, started()],
    [3_000, retried('TimeoutError')],
    [3_010, received({ retries: 1, etaMs: T0_MS + 3_900, extras: EXTRAS })],
    [4_000, started()],
    [5_000, failed('KeyError', { extras: { error } })],
  ]);
  const sentFacts = {
    ...{ name: 'shop.pay', queue: 'orders', exchange: 'x', routingKey: 'orders', sender: 'gen4711@shop' },
    ...{ sentMs: T0_MS, etaMs: undefined, expiresMs: undefined, args: '', kwargs: '' },
  };
  const both = {
    ...{ kind: 'run', uuid: 'u1', rootId: 'r1', parentId: 'p1', parentPlace: { retries: 0, delivery: 0 } },
    ...{ isParentUnknown: true, traceRootId: 'r1', beginsTrace: false, run: RUN, sent: sentFacts },
    ...{ delivery: 0, args: '', kwargs: '', result: '' },
  };
  assert.deepEqual(retry, {
    ...both,
    ...{
      outcome: 'retried',
      errorType: 'TimeoutError',
      error: undefined,
      isSentNew: true,
      previous: undefined,
    },
    ...{ retries: 0, receivedMs: T0_MS + 10, startedMs: T0_MS + 1_000, endedMs: T0_MS + 3_000, runtimeS: 2 },
    ...{ waitTimeS: 1, queueTimeS: 0.01, prefetchTimeS: 0.99, reportedMs: T0_MS + 4_000 },
  });
  assert.deepEqual(end, {
    ...both,
    ...{ outcome: 'failed', errorType: 'KeyError', error, isSentNew: false },
    ...{ retries: 1, previous: { retries: 0, delivery: 0, link: 'retry_of' } },
    ...{ receivedMs: T0_MS + 3_010, startedMs: T0_MS + 4_000, endedMs: T0_MS + 5_000, runtimeS: 1 },
    ...{ waitTimeS: undefined, queueTimeS: undefined, prefetchTimeS: 0.1, reportedMs: T0_MS + 5_000 },
  });
});

test('for a run with only a known end, nothing is made up', () => {
  const [run] = runsOf([[0, succeeded()]]);
  assert.deepEqual([run?.rootId, run?.parentId, run?.traceRootId], ['', '', 'u1']);
  assert.deepEqual([run?.sent, run?.previous, run?.receivedMs, run?.startedMs], Array(4).fill(undefined));
  assert.deepEqual(run?.run, { task: 'unknown', queue: 'unknown', worker: WORKER });
});

test('data of a run is not told with the next run that reuses its object', () => {
  const [first, second] = runsOf([
    ...inTurn(0, received({ extras: { ...EXTRAS, arguments: { args: '(1,)', kwargs: '{}' } } }), started()),
    [2, succeeded()],
    [10_000, received({ uuid: 'u2' })],
    [10_002, succeeded({ uuid: 'u2' })],
  ]);
  assert.deepEqual([first?.args, first?.kwargs, first?.startedMs], ['(1,)', '{}', T0_MS + 1]);
  const { uuid, rootId, args, startedMs, receivedMs } = second ?? {};
  assert.deepEqual([uuid, rootId, args, startedMs, receivedMs], ['u2', '', '', undefined, T0_MS + 10_000]);
});

test('the arguments of a run are those of its sending if its receipt has none, and a success has a result', () => {
  const [run] = runsOf([
    ...inTurn(0, sent({ extras: { arguments: { args: '(1,)', kwargs: '{}' } } }), received()),
    [2, succeeded({ extras: { result: '17' } })],
  ]);
  assert.deepEqual([run?.args, run?.result, run?.sent?.args], ['(1,)', '17', '(1,)']);
});

/** What a run can end with, as Celery reports it: some ends are reported twice. */
const ENDS: readonly (readonly [outcome: string, ...events: readonly CeleryEvent[]])[] = [
  ['succeeded', succeeded()],
  ['failed', failed('KeyError')],
  ['failed', failed('TimeLimitExceeded'), failed('TimeLimitExceeded')],
  ['rejected', rejected(false)],
  ['rejected', failed('Reject', { rejection: true }), rejected(false)],
  ['requeued', rejected(true)],
  ['retried', retried('KeyError')],
  ['cancelled', cancelled()],
  ['revoked', revoked()],
  ['expired', revoked({ expired: true })],
  ['terminated', revoked({ terminated: true })],
  ['terminated', revoked({ terminated: true }), failed('SystemExit')],
  ['terminated', revoked({ terminated: true }), succeeded()],
];

for (const [outcome, ...events] of ENDS) {
  test(`${events.map(({ type }) => type).join(', ')}: a run that is ${outcome}`, () => {
    const ends: Story = events.map((event, index) => [10 + index, event]);
    const reported = runsOf([[0, received()], [1, started()], ...ends]);
    assert.deepEqual(
      reported.map((run) => [run.outcome, run.endedMs]),
      [[outcome, T0_MS + 10]],
    );
    const isError = outcome === 'failed' || outcome === 'retried';
    assert.equal(reported[0]?.errorType !== '', isError);
  });
}

test('the revocation of each worker that has the task is the end of a run, once', () => {
  const other = { hostname: 'w2@shop' };
  const story: Story = [
    ...inTurn(0, received(), received(other), revoked(), revoked(other), revoked({ hostname: 'w3@shop' })),
    [5, revoked(other)],
  ];
  assert.deepEqual(
    runsOf(story).map(({ outcome }) => outcome),
    ['revoked', 'revoked', 'revoked'],
  );
});

const DYING: Story = inTurn(0, received(), started(), signal('worker-heartbeat', { active: 1 }));
const DEAD_MS = T0_MS + SETTINGS.lostTimeoutMs + 2_000;

test('a lost run ends at the last sign of life of its worker, and what it does after all is not told', () => {
  const on = after(DYING);
  on.cluster.collect(DEAD_MS);
  on.cluster.apply(succeeded({ timestampMs: T0_MS + 5, clock: 1e6 }), DEAD_MS);
  on.cluster.flush();
  const lost = on.reported.map(
    (run) => run.kind === 'run' && [run.outcome, run.startedMs, run.endedMs, run.reportedMs],
  );
  assert.deepEqual(lost, [['lost', T0_MS + 1, T0_MS + 2, DEAD_MS]]);
  const ends = on.observed.map(({ kind }) => kind).filter((kind) => /lost|loss|succeeded/u.test(kind));
  assert.deepEqual(ends, ['task-lost', 'loss-refuted', 'task-succeeded']);
});

test('a lost run that is delivered again has a run after it', () => {
  const on = after(DYING);
  on.cluster.collect(DEAD_MS);
  const later = DEAD_MS - T0_MS + 1_000;
  const other = { hostname: 'w2@shop' };
  report(on, inTurn(later, received(other), started(other), succeeded(other)));
  on.cluster.flush();
  assert.deepEqual(told(on), ['lost shop.pay 0.0', 'succeeded shop.pay 0.1 redelivery_of 0.0']);
});

test('the end of a lost process with an implausible clock is not known', () => {
  const on = listening();
  for (const [index, [, event]] of DYING.entries())
    on.cluster.apply(
      { ...event, timestampMs: T0_MS, implausibleMs: 1e12 + index, clock: index },
      T0_MS + index,
    );
  on.cluster.collect(DEAD_MS);
  assert.deepEqual(
    runs(on).map(({ outcome, endedMs }) => [outcome, endedMs]),
    [['lost', undefined]],
  );
});

/** A worker that has no task left, as its heartbeats say. */
const IGNORED: Story = [
  ...inTurn(0, received(), started()),
  [4_000, signal('worker-heartbeat', { active: 0, processed: 1 })],
  [8_000, signal('worker-heartbeat', { active: 0, processed: 1 })],
];

test('a run without an end is reported within a minute of the evidence that it is over, once', () => {
  const on = after(IGNORED);
  const doubtedMs = T0_MS + 12_000;
  on.cluster.collect(doubtedMs);
  on.cluster.collect(doubtedMs + 9_999);
  assert.deepEqual(on.reported, []);
  on.cluster.collect(doubtedMs + 10_000);
  on.cluster.collect(doubtedMs + 2 * HOUR_MS);
  const reportedMs = doubtedMs + 10_000;
  assert.deepEqual(
    runs(on).map((run) => [run.outcome, run.endedMs, run.reportedMs]),
    [['unknown', T0_MS + 8_000, reportedMs]],
  );
  // A heartbeat keeps its worker alive.
  on.cluster.apply(succeeded({ timestampMs: reportedMs, clock: 1e6 }), reportedMs);
  on.cluster.flush();
  assert.deepEqual(runs(on).length, 1);
});

test('if another run of its worker may be the one that is over, it is reported after an hour', () => {
  const [long, ignored] = [{ uuid: 'long' }, { uuid: 'ignored' }];
  const beat = (active: number) => signal('worker-heartbeat', { active, processed: 2 });
  const on = after([
    ...inTurn(0, received(long), started(long), received(ignored), started(ignored)),
    [4_000, beat(1)],
    [8_000, beat(1)],
  ]);
  beating(on, 12_000, 600_000, beat(1));
  assert.deepEqual(told(on), []);
  // The oldest one is the most likely, but here it was the other one.
  report(on, [[600_000, succeeded(long)]]);
  on.cluster.flush();
  assert.deepEqual(told(on), ['succeeded shop.pay 0.0']);
  beating(on, 604_000, 720_000, beat(0));
  assert.deepEqual(
    runs(on).map((run) => `${run.uuid} ${run.outcome}`),
    ['long succeeded', 'ignored unknown'],
  );
});

test('the oldest run that is over is certainly so once its worker reports that it runs nothing', () => {
  const [ignored, other] = [{ uuid: 'ignored' }, { uuid: 'other' }];
  const beat = (active: number) => signal('worker-heartbeat', { active, processed: 2 });
  const on = after([
    ...inTurn(0, received(ignored), started(ignored), received(other), started(other)),
    [4_000, beat(1)],
    [8_000, beat(1)],
  ]);
  on.cluster.collect(T0_MS + 9_000);
  report(on, [[10_000, succeeded(other)]]);
  beating(on, 12_000, 60_000, beat(0));
  assert.deepEqual(
    runs(on).map((run) => `${run.uuid} ${run.outcome}`),
    ['other succeeded', 'ignored unknown'],
  );
});

test('thousands of runs that wait on a live worker since before a gap keep no settling from its end', () => {
  const on = listening({ tasksMax: 10_000 });
  const etaMs = T0_MS + HOUR_MS;
  report(
    on,
    Array.from({ length: 3000 }, (_, index) => [index / 10, received({ uuid: `u${index}`, etaMs })] as const),
  );
  report(on, [[600, signal('worker-heartbeat')]]);
  on.cluster.gap();
  for (let atMs = 5_000; atMs < 40_000; atMs += 5_000) {
    report(on, [[atMs, signal('worker-heartbeat')]]);
    let steps = 0;
    for (const _ of on.cluster.collectInSteps(T0_MS + atMs + 1_000)) {
      steps += 1;
      assert.ok(steps < 100, `it goes on for ever, after ${atMs} ms`);
    }
  }
  assert.deepEqual(on.reported, []);
});

test('every delivery is reported: one whose worker dies after another worker has the task', () => {
  const [first, second, third] = [
    { hostname: 'w1@h', pid: 1 },
    { hostname: 'w2@h', pid: 2 },
    { hostname: 'w1@h', pid: 3 },
  ];
  const on = after([
    ...inTurn(0, received(first), started(first)),
    [100, signal('worker-heartbeat', { ...first, active: 1 })],
    ...inTurn(5_000, received(second), started(second)),
    [6_000, succeeded(second)],
    // Another process with the same nodename.
    [9_000, signal('worker-online', third)],
  ]);
  on.cluster.flush();
  beating(on, 10_000, 80_000, signal('worker-heartbeat', second), signal('worker-heartbeat', third));
  assert.deepEqual(told(on), ['succeeded shop.pay 0.1 redelivery_of 0.0', 'redelivered shop.pay 0.0']);
});

test('a listener that waits for less time is told sooner', () => {
  const on = after(IGNORED, {}, { unknownAfterMs: 5_000 });
  on.cluster.collect(T0_MS + 12_000);
  on.cluster.collect(T0_MS + 16_999);
  assert.deepEqual(on.reported, []);
  on.cluster.collect(T0_MS + 17_000);
  assert.deepEqual(told(on), ['unknown shop.pay 0.0']);
});

test('a doubted run that ends within the hour has that end', () => {
  const on = after(IGNORED);
  on.cluster.collect(T0_MS + 12_000);
  report(on, [[13_000, succeeded()]]);
  on.cluster.flush();
  on.cluster.collect(T0_MS + 3 * HOUR_MS);
  assert.deepEqual(told(on), ['succeeded shop.pay 0.0']);
});

test('a run that waits while events are missed is told when it ends, however late', () => {
  const on = after(inTurn(0, received({ etaMs: T0_MS + 3 * HOUR_MS }), signal('worker-heartbeat')));
  on.cluster.gap();
  beating(on, 4_000, 3 * HOUR_MS, signal('worker-heartbeat'));
  report(on, inTurn(3 * HOUR_MS, started(), succeeded()));
  on.cluster.flush();
  assert.deepEqual(told(on), ['succeeded shop.pay 0.0']);
});

test('a task that is forgotten for lack of room is told with what is known of it', () => {
  const story = [
    ...inTurn(0, received({ uuid: 'u1' }), started({ uuid: 'u1' }), sent({ uuid: 'u2' })),
    ...inTurn(5_000, received({ uuid: 'u3' }), received({ uuid: 'u4' }), received({ uuid: 'u5' })),
  ];
  const on = after(story, { tasksMax: 2 });
  assert.deepEqual(
    on.reported.map((each) => `${each.kind} ${each.uuid} ${each.reportedMs - T0_MS}`),
    ['run u1 5000', 'sending u2 5001', 'run u3 5002'],
  );
  assert.deepEqual(
    runs(on).map(({ outcome }) => outcome),
    ['unknown', 'unknown'],
  );
});

test('of too many runs of a task, each is told', () => {
  const story: Story = Array.from({ length: 12 }, (_, index) => [index * 2_000, received()]);
  assert.deepEqual(
    runsOf(story).map((run) => `${run.outcome} ${at(run)}`),
    ['unknown 0.0', 'unknown 0.1', 'unknown 0.2', 'unknown 0.3'],
  );
});

test('a run that its worker told of has its start', () => {
  const on = listening();
  const moment = { wallMs: T0_MS, listenedMs: T0_MS };
  report(on, [[0, signal('worker-heartbeat', { active: 1 })]]);
  on.cluster.answers.workerReported(
    WORKER,
    {
      ...{ pid: 17, pool: 'prefork', processes: 4, limit: 4, autoscaler: undefined, prefetchLimit: 16 },
      ...{ uptimeS: 5, cpuUserS: 1, cpuSystemS: 2, memoryMaxBytes: 3, writes: [] },
    },
    moment,
  );
  const sinceMs = T0_MS - 5_000;
  const task = { uuid: 'u1', stage: 'started', name: 'shop.pay', queue: 'orders', sinceMs } as const;
  assert.ok(on.cluster.answers.workerRuns(WORKER, [task], moment));
  report(on, [[10, succeeded()]]);
  on.cluster.flush();
  const [run] = runs(on);
  assert.deepEqual([run?.run, run?.startedMs, run?.receivedMs], [RUN, T0_MS - 5_000, undefined]);
});

test('without a listener nothing is kept for it', () => {
  const bytesOf = (on: Pick<typeof plain, 'cluster'>): readonly number[] => {
    const longest = { extras: { lineage: { rootId: 'r'.repeat(255), parentId: 'p'.repeat(255) } } };
    on.cluster.apply(sent({ uuid: 'u2', ...longest }), T0_MS);
    on.cluster.apply(received(longest), T0_MS);
    const { bytes } = on.cluster.tables().reordering_window;
    on.cluster.flush();
    return [bytes, on.cluster.tables().tasks.bytes];
  };
  const plain = watch();
  const [heldBytes = 0, taskBytes = 0] = bytesOf(plain);
  const [held = 0, task = 0] = bytesOf(listening());
  assert.ok(held - heldBytes >= 1_020 && task - taskBytes >= 2 * 1_020, `${held} ${task}`);
  const bare = watch();
  bare.cluster.apply(sent({ uuid: 'u2' }), T0_MS);
  bare.cluster.apply(received(), T0_MS);
  assert.equal(bare.cluster.tables().reordering_window.bytes, heldBytes);
  bare.cluster.flush();
  assert.equal(bare.cluster.tables().tasks.bytes, taskBytes);
});

test('a sending that no worker receives is told alone once it has expired', () => {
  const on = after([[0, sent({ expiresMs: T0_MS + 60_000, extras: EXTRAS })]]);
  on.cluster.collect(T0_MS + 59_000);
  assert.deepEqual(on.reported, []);
  on.cluster.collect(T0_MS + 60_000);
  on.cluster.collect(T0_MS + 61_000);
  const [reported, ...more] = sendings(on);
  assert.deepEqual(
    [reported?.uuid, reported?.rootId, reported?.sent.expiresMs, more],
    ['u1', 'r1', T0_MS + 60_000, []],
  );
  // On Redis its worker takes it, and says so.
  report(on, [[70_000, revoked({ expired: true })]]);
  on.cluster.flush();
  const [run] = runs(on);
  assert.deepEqual([run?.outcome, run?.sent?.name, run?.isSentNew], ['expired', 'shop.pay', false]);
});

test('a sending with a far ETA is told at its receipt, and not again with its run', () => {
  const etaMs = T0_MS + HOUR_MS;
  const on = after([
    [0, sent({ etaMs })],
    [5, received({ etaMs })],
    [2_000, signal('worker-heartbeat')],
  ]);
  on.cluster.collect(T0_MS + 5_000);
  assert.deepEqual(
    on.reported.map(({ kind }) => kind),
    ['sending'],
  );
  report(on, inTurn(HOUR_MS, started(), succeeded()));
  on.cluster.flush();
  const [run] = runs(on);
  assert.deepEqual([on.reported.length, run?.isSentNew, run?.sent?.etaMs], [2, false, etaMs]);
});

test('with native delayed delivery a sending with a far ETA is told without a receipt', () => {
  const etaMs = T0_MS + HOUR_MS;
  const on = after([[0, sent({ etaMs, queue: '', routingKey: `${'0.'.repeat(28)}orders` })]]);
  on.cluster.collect(T0_MS + 500);
  assert.deepEqual(on.reported, []);
  on.cluster.collect(T0_MS + 5_000);
  on.cluster.collect(T0_MS + 10_000);
  const [reported, ...more] = sendings(on);
  assert.deepEqual([reported?.sent.queue, reported?.sent.routingKey, more], ['orders', 'orders', []]);
});

test('a task-sent that arrives after the run was told makes no sending', () => {
  const late: Story = [
    ...inTurn(0, received(), started(), retried('KeyError')),
    ...inTurn(5_000, signal('worker-heartbeat'), sent(), received({ retries: 1 }), succeeded()),
  ];
  assert.deepEqual(
    runsOf(late).map(({ sent: sending }) => sending),
    [undefined, undefined],
  );
  const early = runsOf(
    late
      .map(([atMs, event]) => [event.type === 'task-sent' ? 3 : atMs, event] as const)
      .sort(([one], [other]) => one - other),
  );
  assert.deepEqual(
    early.map(({ isSentNew }) => isSentNew),
    [true, false],
  );
});

test('a second task-sent of the same name makes no second sending', () => {
  const reported = runsOf([
    ...inTurn(0, sent(), received(), started(), sent({ queue: 'other' }), received(), started()),
    ...inTurn(6, succeeded(), succeeded()),
  ]);
  assert.deepEqual(
    reported.map(({ sent: sending, isSentNew }) => `${sending?.queue} ${isSentNew}`),
    ['orders true', 'orders false'],
  );
});

test('only workers know a shadow name: the sending has the real one', () => {
  const reported = runsOf([
    ...inTurn(0, sent(), received({ name: 'shadow' }), started(), sent({ retries: 1 }), retried('KeyError')),
    ...inTurn(5, received({ name: 'shadow', retries: 1 }), started(), succeeded()),
  ]);
  assert.deepEqual(
    reported.map(({ run, sent: sending, isSentNew }) => `${run.task} ${sending?.name} ${isSentNew}`),
    ['shadow shop.pay true', 'shadow shop.pay false'],
  );
});

test('once events are applied, nothing of their texts is held', () => {
  const error = { path: 'KeyError', message: 'k', stacktrace: 's'.repeat(16_000) };
  const on = after(inTurn(0, received({ extras: EXTRAS }), failed('KeyError', { extras: { error } })));
  assert.ok(on.cluster.tables().reordering_window.bytes > 32_000);
  on.cluster.flush();
  assert.equal(on.cluster.tables().reordering_window.bytes, 0);
});

test('nothing of a forgotten task is told of the next one in its place', () => {
  const on = listening({ tasksMax: 1 }, { beginsTrace: ({ atMs }) => atMs === T0_MS });
  for (const [index, uuid] of ['u1', 'u2'].entries()) {
    const of = { uuid, extras: EXTRAS };
    report(on, inTurn(index * 10_000, sent(of), received(of), retried('KeyError', { uuid })));
    on.cluster.flush();
  }
  assert.deepEqual(
    runs(on).map((run) => `${run.uuid} ${briefly(run)} ${run.traceRootId} ${run.isSentNew}`),
    ['u1 retried shop.pay 0.0 u1 true', 'u2 retried shop.pay 0.0 r1 true'],
  );
});

test('a run that was reported as lost and ends after all is reported once more, to those who want that', () => {
  const again: FinishedRun[] = [];
  const on = listening({}, { onEndedAfterAll: (run) => again.push(run) });
  tell(on, [...running('u1', 0), ...heartbeats(2, 10, 2)]);
  on.cluster.collect(T0_MS + 150_000);
  assert.deepEqual(told(on), ['lost shop.pay 0.0']);
  tell(on, [[151, succeeded({ uuid: 'u1', runtimeS: 150 })]]);
  on.cluster.flush();
  assert.deepEqual(again.map(briefly), ['succeeded shop.pay 0.0']);
  assert.equal(again[0]?.runtimeS, 150);
  assert.equal(runs(on).length, 1);
});
