/** The state at one moment: ages of the oldest tasks, tasks held by workers, and tasks lost with them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterView } from '../../src/cluster/observation.ts';
import {
  failed,
  line,
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
  type Watched,
  watch,
} from './events.ts';
import { of, report, running, type Story } from './stories.ts';

const { windowMs } = SETTINGS;
const W2 = { hostname: 'w2@shop' };

function collectAt(on: Watched, atS: number): ClusterView {
  return on.cluster.collect(T0_MS + atS * 1_000);
}

function after(atS: number, story: Story): ClusterView {
  const on = watch();
  report(on, story);
  return collectAt(on, atS);
}

/** `orders waiting 5`, where it is not 0. */
function ages({ queues }: ClusterView): readonly string[] {
  return queues.flatMap(({ queue, waitingAgeS, runningAgeS }) => [
    ...(waitingAgeS === 0 ? [] : [`${queue} waiting ${waitingAgeS}`]),
    ...(runningAgeS === 0 ? [] : [`${queue} running ${runningAgeS}`]),
  ]);
}

const heartbeat = (active: number, over: { pid?: number; hostname?: string } = {}) =>
  signal('worker-heartbeat', { active, ...over });
const eta = (atS: number) => ({ etaMs: T0_MS + atS * 1_000 });

const AGES: readonly (readonly [what: string, Story, atS: number, expected: readonly string[]])[] = [
  ['a task that is sent waits', [[0, sent()]], 9, ['orders waiting 9']],
  [
    'a task that is received waits since it was sent',
    [
      [0, sent()],
      [2, received()],
    ],
    9,
    ['orders waiting 9'],
  ],
  [
    'a task whose sending is unknown waits since it was received',
    [[2, received()]],
    9,
    ['unknown waiting 7'],
  ],
  [
    'a task that has started runs since then',
    [
      [0, sent()],
      [2, received()],
      [3, started()],
    ],
    9,
    ['orders running 6'],
  ],
  [
    'of several the oldest counts, queue by queue',
    [
      [0, sent({ ...of('u1'), queue: 'slow' })],
      [1, sent(of('u2'))],
      [2, sent(of('u3'))],
      [3, received(of('u3'))],
      [4, started(of('u3'))],
      [5, started({ ...of('u4'), ...W2 })],
    ],
    9,
    ['orders waiting 8', 'orders running 5', 'unknown running 4', 'slow waiting 9'],
  ],
  [
    'until its ETA a task does not wait, whether it was received or not',
    [
      [0, sent({ ...of('u1'), ...eta(8) })],
      [0, sent({ ...of('u2'), ...eta(8) })],
      [1, received({ ...of('u2'), ...eta(8) })],
    ],
    7,
    [],
  ],
  [
    'from its ETA on a task waits, whether it was received or not',
    [
      [0, sent({ ...of('u1'), ...eta(3), queue: 'slow' })],
      [0, sent({ ...of('u2'), ...eta(4) })],
      [1, received({ ...of('u2'), ...eta(4) })],
    ],
    7,
    ['slow waiting 4', 'orders waiting 3'],
  ],
  ['a task that has expired in its queue does not wait', [[0, sent({ expiresMs: T0_MS + 5_000 })]], 7, []],
  [
    'a task that is over neither waits nor runs',
    [
      [0, sent(of('u1'))],
      [1, received(of('u1'))],
      [2, started(of('u1'))],
      [3, succeeded(of('u1'))],
      [0, sent(of('u2'))],
      [1, revoked({ ...of('u2'), expired: true })],
    ],
    7,
    [],
  ],
  [
    'a task that waits for its retry waits from then on',
    [
      [0, sent()],
      [1, received()],
      [2, started()],
      [3, sent({ retries: 1, ...eta(10) })],
      [3, retried('KeyError')],
      [4, received({ retries: 1, ...eta(10) })],
    ],
    12,
    ['orders waiting 2'],
  ],
  [
    'a task that was replaced under its uuid runs no more, though it never ends',
    [
      [0, sent()],
      [1, received()],
      [2, started()],
      [3, sent({ name: 'shop.ship', queue: 'parcels' })],
      [4, received({ name: 'shop.ship' })],
      [5, started()],
    ],
    9,
    ['parcels running 4'],
  ],
  [
    'a task that was given back to its queue runs where it was delivered again',
    [
      [0, sent()],
      [1, received()],
      [2, started()],
      [3, rejected(true)],
      [4, received(W2)],
      [5, started(W2)],
    ],
    9,
    ['orders running 4'],
  ],
  ['a worker whose clock is ahead makes no task younger than nothing', [[60, received()]], 9, []],
];

for (const [what, story, atS, expected] of AGES) {
  test(what, () => {
    const on = watch();
    for (const [eventAtS, event] of story) {
      const timestampMs = T0_MS + eventAtS * 1_000;
      on.cluster.apply({ ...event, timestampMs }, Math.min(timestampMs, T0_MS + atS * 1_000 - 700));
    }
    assert.deepEqual(ages(collectAt(on, atS)), expected);
  });
}

function held({ workers }: ClusterView): readonly string[] {
  return workers.map(({ worker, prefetched, scheduled }) => `${worker} ${prefetched} ${scheduled}`);
}

test('a worker’s received tasks are prefetched or scheduled, depending on their ETA', () => {
  const story: Story = [
    [0, received(of('u1'))],
    [0, received(of('u2'))],
    [0, received({ ...of('u3'), ...eta(20) })],
    [0, received({ ...of('u4'), ...eta(5) })],
    [1, started(of('u1'))],
    [1, received({ ...of('u5'), ...W2 })],
    [2, revoked({ ...of('u5'), ...W2 })],
  ];
  assert.deepEqual(held(after(4, story)), ['w1@shop 1 2', 'w2@shop 0 0']);
  assert.deepEqual(held(after(6, story)), ['w1@shop 2 1', 'w2@shop 0 0']);
  assert.deepEqual(held(after(29, story)), ['w1@shop 3 0', 'w2@shop 0 0']);
});

test('tasks of a worker that is gone wait in the broker until another worker receives them', () => {
  for (const goodbye of [true, false]) {
    const on = watch();
    report(on, [
      [0, sent(of('u1'))],
      [0, sent(of('u2'))],
      [1, received(of('u1'))],
      [1, received(of('u2'))],
    ]);
    if (goodbye) report(on, [[2, signal('worker-offline')]]);
    const left = collectAt(on, 40);
    assert.deepEqual([held(left), ages(left)], [['w1@shop 0 0'], ['orders waiting 40']]);
    report(on, [
      [41, received({ ...of('u1'), ...W2 })],
      [42, started({ ...of('u1'), ...W2 })],
      [43, succeeded({ ...of('u1'), ...W2 })],
      [44, received({ ...of('u2'), ...W2 })],
      [45, started({ ...of('u2'), ...W2 })],
    ]);
    const taken = collectAt(on, 50);
    assert.deepEqual([held(taken), ages(taken)], [['w1@shop 0 0', 'w2@shop 0 0'], ['orders running 5']]);
    assert.deepEqual(lostLines(on), [], 'what had not begun is not lost');
  }
});

test('a task received by another worker no longer waits at the first one, even while that is up', () => {
  const on = watch();
  report(on, [
    [0, sent(of('u1'))],
    [1, received(of('u1'))],
    [2, received({ ...of('u1'), ...W2 })],
    [3, started({ ...of('u1'), ...W2 })],
    [4, succeeded({ ...of('u1'), ...W2 })],
  ]);
  const later = collectAt(on, 6);
  assert.deepEqual([held(later), ages(later)], [['w1@shop 0 0', 'w2@shop 0 0'], []]);
});

const RETENTION_S = SETTINGS.seriesRetentionMs / 1_000;
const lostLines = (on: Watched) =>
  on
    .news()
    .filter(({ kind }) => kind === 'task-lost')
    .map(line);

test('a task that its worker no longer runs has ended unseen: it neither runs nor is lost', () => {
  const on = watch();
  // `Ignore` sends no end event.
  report(on, [...running('ignored', 0), [2, heartbeat(0)]]);
  assert.deepEqual(ages(collectAt(on, 3)), ['orders running 3'], 'an end might still be on its way');
  assert.deepEqual(ages(collectAt(on, 5)), []);
  collectAt(on, 60);
  assert.deepEqual(lostLines(on), []);
  // Forgetting it is no loss.
  const { size, evicted } = on.cluster.tables().tasks;
  assert.deepEqual({ size, evicted }, { size: 1, evicted: 0 });
});

test('for a worker that is never idle, the latest started tasks are the running ones', () => {
  const on = watch();
  report(on, [...running('ignored', 0), ...running('u1', 1), ...running('u2', 2), [4, heartbeat(2)]]);
  assert.deepEqual(ages(collectAt(on, 6)), ['orders running 5']);
  collectAt(on, 125);
  assert.equal(lostLines(on).length, 2);
});

test('a doubted run is expected again after its next event', () => {
  const on = watch();
  report(on, [...running('u1', 0), [2, heartbeat(0)]]);
  collectAt(on, 5);
  report(on, [[20, failed('KeyError', of('u1'))]]);
  collectAt(on, 22);
  const ends = on.news().filter(({ kind }) => kind === 'task-failed');
  assert.deepEqual(ends.map(line), ['failed shop.pay orders w1@shop KeyError 20s']);
});

test('tasks started after the worker’s last heartbeat are not doubted', () => {
  const on = watch();
  report(on, [[0, heartbeat(0)], ...running('u1', 0.1), ...running('u2', 1)]);
  assert.deepEqual(ages(collectAt(on, 20)), ['orders running 19.9']);
});

test('after a gap waiting tasks are doubted, and running ones are known from the worker', () => {
  const on = watch();
  report(on, [
    [0, sent(of('u1'))],
    [0, sent(of('u2'))],
    [1, received(of('u2'))],
    ...running('u3', 1),
    [1, sent(of('u4'))],
    [1, received({ ...of('u4'), ...eta(2) })],
  ]);
  assert.deepEqual(held(collectAt(on, 5)), ['w1@shop 2 0']);
  on.cluster.gap();
  const doubtful = collectAt(on, 6);
  assert.deepEqual([held(doubtful), ages(doubtful)], [['w1@shop 0 0'], ['orders running 5']]);
  // Their later events still have the name, queue and times.
  report(on, [
    [7, received(of('u1'))],
    [8, started(of('u2'))],
  ]);
  const known = collectAt(on, 10);
  assert.deepEqual([held(known), ages(known)], [['w1@shop 1 0'], ['orders waiting 10', 'orders running 9']]);
  const wait = on.observed.find((it) => it.kind === 'task-started' && it.waitTimeS === 8);
  assert.ok(wait?.kind === 'task-started' && wait.prefetchTimeS === 7);
});

test('an evicted worker has no effect on other workers or tasks', () => {
  const on = watch({ workersMax: 1 });
  report(on, [...running('u1', 0), [1, heartbeat(0, W2)]]);
  collectAt(on, 100);
  assert.deepEqual(lostLines(on), []);
});

test('clients have no tasks and lose none', () => {
  const on = watch();
  report(on, running('u1', 0, { hostname: 'gen7@shop' }));
  const later = collectAt(on, 100);
  assert.deepEqual([later.workers, ages(later), lostLines(on)], [[], [], []]);
});

test('a known queue has ages, 0 while it is idle, until it has been unused for long', () => {
  const on = watch();
  report(on, [...running('u1', 0), [3, succeeded(of('u1'))], [3, sent({ ...of('u2'), queue: 'mails' })]]);
  const idle = { queue: 'orders', waitingAgeS: 0, runningAgeS: 0 };
  assert.deepEqual(collectAt(on, 5).queues, [idle, { queue: 'mails', waitingAgeS: 2, runningAgeS: 0 }]);
  assert.deepEqual(collectAt(on, 3 + RETENTION_S).queues[0], idle);
  const later = collectAt(on, 3.1 + RETENTION_S).queues;
  assert.deepEqual(
    later.map(({ queue }) => queue),
    ['mails'],
    'a task still waits there',
  );
});

test('idle queues are bounded, and those beyond are counted', () => {
  const on = watch({ tasksMax: 10 });
  for (let index = 0; index < 2_100; index += 1) {
    on.cluster.apply(sent({ uuid: `u${index}`, queue: `q${index}` }), T0_MS);
  }
  const { queues } = collectAt(on, 1);
  assert.equal(queues.length, 2_000 + 10, 'and those of the ten tasks that are known');
  assert.ok(on.cluster.beyondFixedBounds() >= 100);
});

test('queues that were only named come last, and leave room for one in which a task has run', () => {
  const on = watch({ tasksMax: 10_000 });
  for (let index = 0; index < 2_000; index += 1)
    on.cluster.apply(sent({ uuid: `u${index}`, queue: `q${index}` }), T0_MS);
  const known = (s: number) => collectAt(on, s).queues.map(({ queue }) => queue);
  assert.equal(known(1).length, 2_000);
  report(on, [
    [2, sent({ ...of('new'), queue: 'parcels' })],
    ...running('new', 2),
    [4, succeeded(of('new'))],
  ]);
  assert.equal(known(8)[0], 'parcels', 'idle, in a table that was full');
  report(on, [[9, sent({ ...of('sent'), queue: 'mails' })]]);
  report(on, [[9, sent({ ...of('next'), queue: 'q1999' })], ...running('next', 9)]);
  assert.deepEqual(known(12).slice(0, 2), ['parcels', 'q1999'], 'it was known before');
});

test('queues in which tasks run or have just run come first, however many others have waiting tasks', () => {
  const on = watch({ tasksMax: 10_000 });
  for (let index = 0; index < 3_000; index += 1) {
    const uuid = `u${index}`;
    report(on, [
      [0, sent({ uuid, queue: `q${index}` })],
      [0, received({ uuid, ...W2 })],
    ]);
  }
  const first = (s: number) => collectAt(on, s).queues[0]?.queue;
  assert.equal(first(1), 'q0');
  report(on, [...running('u', 2), [4, succeeded(of('u'))]]);
  assert.equal(first(8), 'orders', 'idle');
  assert.equal(first(2 * RETENTION_S), 'q0', 'the others are kept, since tasks wait there');
  report(on, running('v', 2 * RETENTION_S));
  for (let atS = 2 * RETENTION_S + 10; atS < 4 * RETENTION_S; atS += 20) {
    report(on, [[atS, heartbeat(1)]]);
    assert.equal(first(atS), 'orders', 'its task runs');
  }
});

test('tasks that wait do not keep their queue among those in which tasks have just run', () => {
  const on = watch();
  report(on, [...running('u', 0), [1, succeeded(of('u'))], [2, sent(of('next'))]]);
  report(on, [
    [2, received(of('next'))],
    [3, sent({ ...of('other'), queue: 'mails' })],
    [3, received(of('other'))],
  ]);
  collectAt(on, RETENTION_S - 10);
  report(on, [[RETENTION_S - 9, started(of('other'))]]);
  const known = (s: number) => collectAt(on, s).queues.map(({ queue }) => queue);
  assert.deepEqual(known(RETENTION_S - 5), ['orders', 'mails']);
  assert.deepEqual(known(RETENTION_S + 5), ['mails', 'orders']);
});

test('queues with their own ages are bounded, and all others share the age of the oldest task', () => {
  const on = watch({ tasksMax: 30_000 });
  for (let index = 0; index < 30_000; index += 1) {
    const timestampMs = T0_MS - index;
    on.cluster.apply(sent({ uuid: `u${index}`, queue: `q${index}`, timestampMs }), T0_MS);
  }
  const { queues } = collectAt(on, 1);
  assert.equal(queues.length, 10_001);
  assert.deepEqual(queues.at(-1), { queue: 'other', waitingAgeS: 30.999, runningAgeS: 0 });
});

test('a queue in which tasks have just run keeps its name, however many others there are', () => {
  const on = watch({ tasksMax: 30_000 });
  report(on, [[0, sent({ uuid: 'first' })], ...running('first', 0), [1, succeeded({ uuid: 'first' })]]);
  on.cluster.collect(T0_MS + 2_000);
  for (let index = 0; index < 20_000; index += 1) {
    const timestampMs = T0_MS + 3_000;
    on.cluster.apply(sent({ uuid: `u${index}`, queue: `q${index}`, timestampMs }), timestampMs);
  }
  report(on, [[4, sent({ uuid: 'next' })]]);
  const { queues } = collectAt(on, 10);
  assert.deepEqual(queues[0], { queue: 'orders', waitingAgeS: 6, runningAgeS: 0 });
});

test('ages are computed at the end of a collection, however long it took', () => {
  const { cluster } = watch({ tasksMax: 10_000 });
  for (let index = 0; index < 5_000; index += 1) cluster.apply(sent({ uuid: `u${index}` }), T0_MS);
  let nowMs = T0_MS + 1_000;
  const steps = cluster.collectInSteps(() => nowMs);
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done === true) {
      assert.equal(step.value.queues[0]?.waitingAgeS, (nowMs - T0_MS) / 1_000);
      break;
    }
    nowMs += 1_000;
  }
  assert.ok(nowMs > T0_MS + 4_000);
});

test('at the end all held events are observed, and no worker is treated as gone', () => {
  const on = watch();
  report(on, [...running('u1', 0), [0, heartbeat(1)]]);
  on.cluster.flush();
  const last = on.cluster.collect(T0_MS + windowMs - 1);
  assert.deepEqual(
    last.workers.map(({ up, active }) => [up, active]),
    [[true, 1]],
  );
  assert.deepEqual(
    on.news().map(({ kind }) => kind),
    ['task-sent', 'task-received', 'task-started'],
  );
});

test('a view is current even if nothing was settled', () => {
  const on = watch();
  report(on, [...running('u1', 0), [0, sent({ ...of('u2'), expiresMs: T0_MS + 5_000 })]]);
  report(on, [[0, received({ ...of('u3'), ...eta(10) })]]);
  for (const _ of on.cluster.drain());
  const viewAt = (atS: number) => {
    const seen = on.cluster.view(T0_MS + atS * 1_000);
    return [held(seen), ages(seen), seen.workers.map(({ up }) => up)];
  };
  assert.deepEqual(viewAt(2), [['w1@shop 0 1'], ['orders waiting 2', 'orders running 2'], [true]]);
  assert.deepEqual(viewAt(20), [['w1@shop 1 0'], ['orders running 20', 'unknown waiting 10'], [true]]);
  assert.deepEqual(viewAt(50), [['w1@shop 0 0'], ['orders running 50', 'unknown waiting 40'], [false]]);
  on.cluster.gap();
  assert.deepEqual(viewAt(20), [['w1@shop 0 0'], ['orders running 20'], [true]]);
});
