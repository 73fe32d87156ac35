/**
 * Tasks that died with their worker, and those that only seem so: silence is no death, and a loss cannot be taken back.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  failed,
  line,
  received,
  SETTINGS,
  signal,
  started,
  succeeded,
  T0_MS,
  WORKER,
  watch,
} from './events.ts';
import { heartbeat, heartbeats, news, of, progress, report, running, type Story, upAt } from './stories.ts';

const W2 = { hostname: 'w2@shop' };
const TIMEOUT_S = SETTINGS.workerTimeoutMs / 1_000;
const LOST_S = SETTINGS.lostTimeoutMs / 1_000;
const RETENTION_S = SETTINGS.seriesRetentionMs / 1_000;
const FORGOTTEN_S = TIMEOUT_S + RETENTION_S;

/** The task is delivered to another worker, and ends there. */
const again = (uuid: string, atS: number): Story => [
  [atS, received({ uuid, ...W2 })],
  [atS, started({ uuid, ...W2 })],
  [atS + 0.1, succeeded({ uuid, ...W2 })],
];

const LOST = 'lost shop.pay orders w1@shop';
const SILENCE = 'exited w1@shop silence';

test('a worker that is killed without a successor is down after worker_timeout, and its tasks are lost once, after lost_timeout', () => {
  const on = watch();
  report(on, [...running('u1', 0), ...running('u2', 1), [1, received(of('u3'))], ...heartbeats(2, 10, 2)]);
  assert.deepEqual(upAt(on, 10 + TIMEOUT_S), [[WORKER, true]]);
  assert.deepEqual(upAt(on, 10.1 + TIMEOUT_S), [[WORKER, false]]);
  upAt(on, 10 + LOST_S);
  assert.deepEqual(news(on), []);
  upAt(on, 10.1 + LOST_S);
  assert.deepEqual(news(on), [LOST, LOST, SILENCE]);
  for (let atS = 150; atS < FORGOTTEN_S + 20; atS += 10) upAt(on, atS);
  assert.deepEqual(news(on), [], 'once');
});

test('a short lost_timeout applies, but nothing in the reordering window is lost', () => {
  const on = watch({ workerTimeoutMs: 1_000, lostTimeoutMs: 3_000 });
  report(on, [...running('u1', 0), ...heartbeats(2, 4, 1)]);
  upAt(on, 7);
  assert.deepEqual(news(on), []);
  upAt(on, 7.1);
  assert.deepEqual(news(on), [LOST, SILENCE]);
});

test('a worker with slow heartbeats falls silent, and loses its tasks, only after 2.5 of them', () => {
  const on = watch({ workerTimeoutMs: 1_000, lostTimeoutMs: 3_000 });
  const slow = { freqS: 60 };
  report(on, [...running('u1', 0), [2, heartbeat(1, slow)], [62, heartbeat(1, slow)]]);
  assert.deepEqual(upAt(on, 62 + 150), [[WORKER, true]]);
  assert.deepEqual(news(on), []);
  assert.deepEqual(upAt(on, 62.1 + 150), [[WORKER, false]]);
  assert.deepEqual(news(on), [LOST, SILENCE]);
});

test('time while not listening is no silence, and the state stays as it was', () => {
  const on = watch();
  report(on, [...running('u1', 0), ...heartbeats(2, 10, 1)]);
  upAt(on, 11);
  const disconnectedS = 3_600;
  assert.deepEqual(upAt(on, 11 + disconnectedS, disconnectedS), [[WORKER, true]]);
  on.cluster.gap();
  assert.deepEqual(upAt(on, 12 + disconnectedS, disconnectedS), [[WORKER, true]]);
  report(on, heartbeats(13 + disconnectedS, 19 + disconnectedS, 1), disconnectedS);
  report(on, [[20 + disconnectedS, succeeded(of('u1'))]], disconnectedS);
  assert.deepEqual(upAt(on, 22 + disconnectedS, disconnectedS), [[WORKER, true]]);
  assert.deepEqual(news(on), []);
  assert.deepEqual(on.observed.slice(-1).map(line), ['succeeded shop.pay orders w1@shop 0.25s']);
});

test('after worker-offline a task of a warm shutdown may take any time', () => {
  const on = watch();
  report(on, [...running('u1', 0), ...running('u2', 0), ...heartbeats(2, 8, 2)]);
  report(on, [[10, signal('worker-offline', { active: 2, processed: 2 })]]);
  assert.deepEqual(upAt(on, 12), [[WORKER, true]], 'it might only reconnect');
  assert.deepEqual(upAt(on, 13), [[WORKER, false]]);
  assert.deepEqual(news(on), ['exited w1@shop goodbye']);
  report(on, [[300, succeeded(of('u1'))]]);
  upAt(on, 302);
  assert.deepEqual(news(on), []);
  upAt(on, 300 + RETENTION_S);
  assert.deepEqual(news(on), []);
  // The other one is silent from now on, and the worker is forgotten.
  assert.deepEqual(upAt(on, 300.1 + RETENTION_S), []);
  assert.deepEqual(news(on), [LOST]);
});

test('pool solo sends no heartbeat during a task, so silence proves nothing until the worker is forgotten', () => {
  const on = watch();
  report(on, heartbeats(0, 4, 0, { processed: 0 }));
  report(on, running('u1', 5));
  for (let atS = 6; atS < 400; atS += 10) upAt(on, atS);
  assert.deepEqual(news(on), []);
  report(on, [[400, succeeded(of('u1'))], ...heartbeats(401, 405, 0), ...running('u2', 406)]);
  assert.deepEqual(upAt(on, 407), [[WORKER, true]]);
  upAt(on, 406 + FORGOTTEN_S);
  assert.deepEqual(news(on), []);
  upAt(on, 406.1 + FORGOTTEN_S);
  assert.deepEqual(news(on), [LOST, SILENCE]);
});

test('a successor with another pid proves the death, and late events of the old process have ten seconds', () => {
  const on = watch();
  report(on, [...running('u1', 0), ...running('u2', 0), ...heartbeats(2, 8, 2)]);
  report(on, [
    [9, signal('worker-online', { pid: 18 })],
    ...heartbeats(11, 17, 0, { pid: 18, processed: 0 }),
  ]);
  on.cluster.apply(succeeded({ ...of('u2'), timestampMs: T0_MS + 8_500 }), T0_MS + 15_000);
  upAt(on, 18);
  assert.deepEqual(news(on), [], 'its late events may still arrive');
  report(on, heartbeats(19, 25, 0, { pid: 18, processed: 0 }));
  assert.deepEqual(upAt(on, 26), [[WORKER, true]]);
  assert.deepEqual(news(on), [LOST, 'exited w1@shop replaced']);
});

test('counts that fall and stay low show another process, even without its worker-online', () => {
  const on = watch();
  report(on, [...running('u1', 0), ...heartbeats(2, 8, 1, { processed: 100, clock: 900 })]);
  report(on, [...running('u2', 14), ...heartbeats(15, 33, 1, { processed: 3, clock: 9 })]);
  upAt(on, 35);
  assert.deepEqual(news(on), [LOST, 'exited w1@shop restarted']);
  report(on, heartbeats(35, 41, 1, { processed: 20, clock: 50 }));
  upAt(on, 45);
  assert.deepEqual(news(on), []);
  assert.equal(progress(on).processed, 17);
});

test('an end after the loss counts as that end, and refutes the loss', () => {
  const on = watch();
  report(on, [...running('u1', 0), ...heartbeats(2, 4, 1)]);
  upAt(on, 5 + LOST_S);
  assert.deepEqual(news(on), [LOST, SILENCE]);
  report(on, [
    [150, heartbeat(1)],
    [151, failed('KeyError', of('u1'))],
  ]);
  upAt(on, 153);
  assert.deepEqual(on.news().map(line), [
    'loss-refuted shop.pay orders w1@shop',
    'failed shop.pay orders w1@shop KeyError 151s',
    'returned w1@shop',
  ]);
  // It may be lost again.
  report(on, [...running('u1', 200), ...heartbeats(202, 204, 1)]);
  upAt(on, 205 + LOST_S);
  assert.deepEqual(news(on), [LOST, SILENCE]);
});

const TASKS_MAX = 100;
const REFUTED = [
  'loss-refuted shop.pay orders w1@shop',
  'succeeded shop.pay orders w1@shop 0.25s',
  'returned w1@shop',
];

test('a loss is refuted however many other tasks have ended since, and however long the task ran', () => {
  for (const ranS of [4, 26 * 3_600]) {
    const on = watch({ tasksMax: TASKS_MAX });
    report(on, [...running('u1', 0), ...heartbeats(ranS - 2, ranS, 1)]);
    upAt(on, ranS + 1 + LOST_S);
    assert.deepEqual(news(on), [LOST, SILENCE]);
    for (let other = 0; other < 3 * TASKS_MAX; other += 1)
      report(on, again(`other${other}`, ranS + 130 + other / 4));
    upAt(on, ranS + 300);
    on.news();
    report(on, [[ranS + 301, succeeded(of('u1'))]]);
    upAt(on, ranS + 303);
    assert.deepEqual(on.news().map(line), REFUTED);
  }
});

test('lost tasks are evicted like unfinished ones until a day has passed or they have run again', () => {
  const dayS = 24 * 3_600;
  const uuids = Array.from({ length: TASKS_MAX }, (_, index) => `u${index}`);
  for (const { runAgain = [], fromS, evicted } of [
    { fromS: dayS, evicted: TASKS_MAX },
    { fromS: dayS + 5 + LOST_S, evicted: 0 },
    { runAgain: uuids, fromS: 300, evicted: 0 },
  ]) {
    const on = watch({ tasksMax: TASKS_MAX });
    report(on, [...uuids.flatMap((uuid) => running(uuid, 0)), ...heartbeats(2, 4, TASKS_MAX)]);
    upAt(on, 5 + LOST_S);
    assert.equal(news(on).filter((each) => each === LOST).length, TASKS_MAX);
    report(
      on,
      runAgain.flatMap((uuid) => again(uuid, 200)),
    );
    upAt(on, fromS);
    report(
      on,
      uuids.flatMap((uuid) => running(`new ${uuid}`, fromS)),
    );
    assert.equal(on.cluster.tables().tasks.evicted, evicted, `after ${fromS} s`);
  }
});

test('a redelivered task is not lost, whether it has ended or not', () => {
  const on = watch();
  report(on, [
    ...running('over', 0),
    ...running('runs', 0),
    ...running('waits', 0),
    ...heartbeats(1, 3, 3),
    [5, received({ ...of('over'), ...W2 })],
    [5, received({ ...of('runs'), ...W2 })],
    [5, received({ ...of('waits'), ...W2 })],
    [6, started({ ...of('over'), ...W2 })],
    [6, started({ ...of('runs'), ...W2 })],
    [7, succeeded({ ...of('over'), ...W2 })],
    ...heartbeats(8, 130, 1, W2),
  ]);
  upAt(on, 131);
  assert.deepEqual(news(on), [SILENCE]);
});

test('a lost task that is delivered again later refutes the loss, once, whatever is missed of its next run', () => {
  for (const [what, other, atS] of [
    ['another worker', { ...W2, pid: 21 }, 150],
    ['its successor', { pid: 18 }, 30],
    ['its successor with the same pid', { pid: 17 }, 30],
  ] as const) {
    for (const missed of other.pid === 17 ? [0] : [0, 1, 2]) {
      const on = watch();
      report(on, [
        ...running('u1', 0),
        ...heartbeats(2, 4, 1, { clock: 9 }),
        [8, signal('worker-online', other)],
      ]);
      report(on, heartbeats(10, atS - 2, 0, { ...other, processed: 0, clock: 2 }));
      upAt(on, atS - 1);
      assert.deepEqual(news(on).slice(0, 1), [LOST], what);
      const next: Story = [
        [atS, received({ ...of('u1'), ...other, clock: 3 })],
        [atS + 3, started({ ...of('u1'), ...other, clock: 4 })],
        [atS + 6, succeeded({ ...of('u1'), ...other, clock: 5 })],
      ];
      report(on, next.slice(missed, missed + 1));
      upAt(on, atS + 3 * missed + 2);
      assert.deepEqual(news(on), ['loss-refuted shop.pay orders w1@shop'], `${what}, ${missed} missed`);
      report(on, [...next.slice(missed + 1), [atS + 7, succeeded({ ...of('u1'), clock: 99 })]]);
      upAt(on, atS + 9);
      assert.deepEqual(news(on), [], what);
    }
  }
});

test('a task whose receipt by another worker was missed is not lost with the one it was on', () => {
  const on = watch();
  report(on, [...running('u1', 0), ...heartbeats(2, 4, 1), [6, started({ ...of('u1'), ...W2 })]]);
  upAt(on, 131);
  assert.deepEqual(news(on), [SILENCE]);
});

test('a worker appears once, and again when it returns after it was forgotten', () => {
  const on = watch();
  report(on, heartbeats(0, 4, 0));
  upAt(on, 9);
  assert.ok(
    on.observed.every(({ kind }) => kind !== 'worker-appeared'),
    'a name that occurs once gets no series',
  );
  upAt(on, 10);
  upAt(on, 14);
  upAt(on, 10 + FORGOTTEN_S);
  report(on, heartbeats(700, 702, 0));
  upAt(on, 711);
  const appeared = on.observed.filter(({ kind }) => kind === 'worker-appeared');
  assert.equal(appeared.length, 2);
});

test('a worker that returns after it was silent, offline or restarted is told as returned, once', () => {
  const on = watch();
  const tellsOnly = (...lines: readonly string[]) =>
    assert.deepEqual(
      on.news().flatMap((it) => (it.kind === 'worker-progressed' ? [] : [line(it)])),
      lines,
    );
  report(on, heartbeats(0, 20, 1));
  upAt(on, 20 + LOST_S);
  upAt(on, 21 + LOST_S);
  tellsOnly('appeared w1@shop', SILENCE);
  report(on, heartbeats(200, 204, 1));
  upAt(on, 205);
  upAt(on, 206);
  tellsOnly('returned w1@shop');
  report(on, [[207, signal('worker-offline', { active: 0, processed: 1 })]]);
  upAt(on, 220);
  tellsOnly('exited w1@shop goodbye');
  report(on, heartbeats(230, 250, 0, { pid: 77 }));
  upAt(on, 251);
  upAt(on, 252);
  tellsOnly('returned w1@shop');
  report(on, heartbeats(260, 270, 0, { pid: 78 }));
  upAt(on, 280);
  upAt(on, 281);
  tellsOnly('exited w1@shop replaced', 'returned w1@shop');
});

test('a young worker has appeared before it has gone, and once', () => {
  for (const isBack of [false, true]) {
    const on = watch();
    report(on, [...heartbeats(0, 4, 0), [4.5, signal('worker-offline', { active: 0, processed: 1 })]]);
    for (let atS = 5; atS <= 40; atS += 1) {
      if (isBack) report(on, heartbeats(atS, atS, 0, { pid: 77 }));
      upAt(on, atS + 0.1);
    }
    assert.deepEqual(
      on.news().flatMap((it) => (it.kind === 'worker-progressed' ? [] : [line(it)])),
      ['appeared w1@shop', 'exited w1@shop goodbye', ...(isBack ? ['returned w1@shop'] : [])],
    );
  }
});

test('an upgraded worker keeps its former version until it is forgotten', () => {
  const on = watch();
  report(on, heartbeats(0, 4, 0, { softwareVersion: '5.6.3' }));
  const versionsAt = (atS: number) =>
    on.cluster
      .collect(T0_MS + atS * 1_000)
      .workers.map(({ versions }) => versions.map((each) => each.version));
  assert.deepEqual(versionsAt(5), [['5.6.3']]);
  report(on, heartbeats(10, 14, 0, { pid: 18, softwareVersion: '5.7.0' }));
  assert.deepEqual(versionsAt(16), [['5.7.0', '5.6.3']]);
});
