/** What is true at one moment: the ages of the oldest tasks, what workers hold, and what died with them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CeleryEvent } from '../../src/celery/event.ts';
import type { Survey } from '../../src/cluster/observation.ts';
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
  WORKER,
  watch,
} from './events.ts';

const { workerTimeoutMs, windowMs } = SETTINGS;
const W2 = { hostname: 'w2@shop' };

/** Events with the time, in seconds since the beginning, at which they happen and reach us. */
type Story = readonly (readonly [atS: number, event: CeleryEvent])[];

function tell(on: Watched, story: Story): void {
  for (const [atS, event] of story) {
    const timestampMs = T0_MS + atS * 1_000;
    on.cluster.apply({ ...event, timestampMs }, timestampMs);
  }
}

function surveyAt(on: Watched, atS: number): Survey {
  return on.cluster.survey(T0_MS + atS * 1_000);
}

function after(atS: number, story: Story): Survey {
  const on = watch();
  tell(on, story);
  return surveyAt(on, atS);
}

/** `orders waiting 5` */
function ages({ queues }: Survey): readonly string[] {
  return queues.flatMap(({ queue, waitingAgeS, runningAgeS }) => [
    ...(waitingAgeS === undefined ? [] : [`${queue} waiting ${waitingAgeS}`]),
    ...(runningAgeS === undefined ? [] : [`${queue} running ${runningAgeS}`]),
  ]);
}

const heartbeat = (active: number, over: { pid?: number; hostname?: string } = {}) =>
  signal('worker-heartbeat', { active, ...over });
const eta = (atS: number) => ({ etaMs: T0_MS + atS * 1_000 });
const of = (uuid: string) => ({ uuid });

const AGES: readonly { what: string; story: Story; atS: number; expected: readonly string[] }[] = [
  { what: 'a task that is sent waits', story: [[0, sent()]], atS: 9, expected: ['orders waiting 9'] },
  {
    what: 'a task that is received waits since it was sent',
    story: [
      [0, sent()],
      [2, received()],
    ],
    atS: 9,
    expected: ['orders waiting 9'],
  },
  {
    what: 'a task whose sending is unknown waits since it was received',
    story: [[2, received()]],
    atS: 9,
    expected: ['unknown waiting 7'],
  },
  {
    what: 'a task that has started runs since then',
    story: [
      [0, sent()],
      [2, received()],
      [3, started()],
    ],
    atS: 9,
    expected: ['orders running 6'],
  },
  {
    what: 'of several the oldest counts, queue by queue',
    story: [
      [0, sent({ ...of('u1'), queue: 'slow' })],
      [1, sent(of('u2'))],
      [2, sent(of('u3'))],
      [3, received(of('u3'))],
      [4, started(of('u3'))],
      [5, started({ ...of('u4'), ...W2 })],
    ],
    atS: 9,
    expected: ['slow waiting 9', 'orders waiting 8', 'orders running 5', 'unknown running 4'],
  },
  {
    what: 'until its ETA a task does not wait, whether it was received or not',
    story: [
      [0, sent({ ...of('u1'), ...eta(8) })],
      [0, sent({ ...of('u2'), ...eta(8) })],
      [1, received({ ...of('u2'), ...eta(8) })],
    ],
    atS: 7,
    expected: [],
  },
  {
    what: 'from its ETA on a task waits, whether it was received or not',
    story: [
      [0, sent({ ...of('u1'), ...eta(3), queue: 'slow' })],
      [0, sent({ ...of('u2'), ...eta(4) })],
      [1, received({ ...of('u2'), ...eta(4) })],
    ],
    atS: 7,
    expected: ['orders waiting 3', 'slow waiting 4'].toReversed(),
  },
  {
    what: 'a task that has expired in its queue does not wait',
    story: [[0, sent({ expiresMs: T0_MS + 5_000 })]],
    atS: 7,
    expected: [],
  },
  {
    what: 'a task that is over neither waits nor runs',
    story: [
      [0, sent(of('u1'))],
      [1, received(of('u1'))],
      [2, started(of('u1'))],
      [3, succeeded(of('u1'))],
      [0, sent(of('u2'))],
      [1, revoked({ ...of('u2'), expired: true })],
    ],
    atS: 7,
    expected: [],
  },
  {
    what: 'a task that waits for its retry waits from then on',
    story: [
      [0, sent()],
      [1, received()],
      [2, started()],
      [3, sent({ retries: 1, ...eta(10) })],
      [3, retried('KeyError')],
      [4, received({ retries: 1, ...eta(10) })],
    ],
    atS: 12,
    expected: ['orders waiting 2'],
  },
  {
    what: 'a task that was replaced under its uuid runs no more, though it never ends',
    story: [
      [0, sent()],
      [1, received()],
      [2, started()],
      [3, sent({ name: 'shop.ship', queue: 'parcels' })],
      [4, received({ name: 'shop.ship' })],
      [5, started()],
    ],
    atS: 9,
    expected: ['parcels running 4'],
  },
  {
    what: 'a task that was given back to its queue runs where it was delivered again',
    story: [
      [0, sent()],
      [1, received()],
      [2, started()],
      [3, rejected(true)],
      [4, received(W2)],
      [5, started(W2)],
    ],
    atS: 9,
    expected: ['orders running 4'],
  },
  {
    what: 'a worker whose clock is ahead makes no task younger than nothing',
    story: [[60, received()]],
    atS: 9,
    expected: ['unknown waiting 0'],
  },
];

for (const { what, story, atS, expected } of AGES) {
  test(what, () => {
    const on = watch();
    for (const [eventAtS, event] of story) {
      const timestampMs = T0_MS + eventAtS * 1_000;
      on.cluster.apply({ ...event, timestampMs }, Math.min(timestampMs, T0_MS + atS * 1_000 - 700));
    }
    assert.deepEqual(ages(surveyAt(on, atS)), expected);
  });
}

function held({ workers }: Survey): readonly string[] {
  return workers.map(({ worker, prefetched, scheduled }) => `${worker} ${prefetched} ${scheduled}`);
}

test('a worker holds what it has received and not started, apart by whether it is due', () => {
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

test('what a worker held waits in the broker again once the worker is not there, until another is given it', () => {
  for (const goodbye of [true, false]) {
    const on = watch();
    tell(on, [
      [0, sent(of('u1'))],
      [0, sent(of('u2'))],
      [1, received(of('u1'))],
      [1, received(of('u2'))],
    ]);
    if (goodbye) tell(on, [[2, signal('worker-offline')]]);
    const left = surveyAt(on, 40);
    assert.deepEqual([held(left), ages(left)], [['w1@shop 0 0'], ['orders waiting 40']]);
    tell(on, [
      [41, received({ ...of('u1'), ...W2 })],
      [42, started({ ...of('u1'), ...W2 })],
      [43, succeeded({ ...of('u1'), ...W2 })],
      [44, received({ ...of('u2'), ...W2 })],
      [45, started({ ...of('u2'), ...W2 })],
    ]);
    const taken = surveyAt(on, 50);
    assert.deepEqual([held(taken), ages(taken)], [['w1@shop 0 0', 'w2@shop 0 0'], ['orders running 5']]);
    assert.deepEqual(lostLines(on), [], 'what had not begun is not lost');
  }
});

test('what another worker was given meanwhile waits no more where it was, though nobody has left', () => {
  const on = watch();
  tell(on, [
    [0, sent(of('u1'))],
    [1, received(of('u1'))],
    [2, received({ ...of('u1'), ...W2 })],
    [3, started({ ...of('u1'), ...W2 })],
    [4, succeeded({ ...of('u1'), ...W2 })],
  ]);
  const later = surveyAt(on, 6);
  assert.deepEqual([held(later), ages(later)], [['w1@shop 0 0', 'w2@shop 0 0'], []]);
});

test('a task that has expired in its worker does not wait', () => {
  const expires = { expiresMs: T0_MS + 5_000 };
  const story: Story = [
    [0, sent(expires)],
    [1, received(expires)],
  ];
  assert.deepEqual(ages(after(4, story)), ['orders waiting 4']);
  assert.deepEqual([held(after(5, story)), ages(after(5, story))], [['w1@shop 0 0'], []]);
});

const TIMEOUT_S = workerTimeoutMs / 1_000;
const running = (uuid: string, atS: number, over = {}): Story => [
  [atS, sent(of(uuid))],
  [atS, received({ ...of(uuid), ...over })],
  [atS, started({ ...of(uuid), ...over })],
];
const lostLines = (on: Watched) =>
  on
    .news()
    .filter(({ kind }) => kind === 'task-lost')
    .map(line);

test('what runs on a worker that falls silent is lost, once the worker is given up, and once', () => {
  const on = watch();
  tell(on, [...running('u1', 0), ...running('u2', 1), [1, received(of('u3'))]]);
  surveyAt(on, 1 + TIMEOUT_S);
  assert.deepEqual(lostLines(on), []);
  const later = surveyAt(on, 1.001 + TIMEOUT_S);
  assert.deepEqual(lostLines(on), ['lost shop.pay orders w1@shop', 'lost shop.pay orders w1@shop']);
  assert.deepEqual(ages(later), ['unknown waiting 30.001']);
  surveyAt(on, 100);
  assert.deepEqual(lostLines(on), []);
});

test('a loss is not taken back by an end that is told late, which counts too; nor counted again', () => {
  const on = watch();
  tell(on, running('u1', 0));
  surveyAt(on, 40);
  assert.deepEqual(lostLines(on), ['lost shop.pay orders w1@shop']);
  tell(on, [
    [50, heartbeat(1)],
    [51, failed('KeyError', of('u1'))],
  ]);
  surveyAt(on, 53);
  assert.deepEqual(on.news().map(line), ['failed shop.pay orders w1@shop KeyError 51s']);
  tell(on, running('u1', 60));
  surveyAt(on, 120);
  assert.deepEqual(lostLines(on), [], 'once a task');
});

test('what was delivered again is not lost, whether it is over already or not', () => {
  const on = watch();
  tell(on, [
    ...running('over', 0),
    ...running('runs', 0),
    ...running('waits', 0),
    [5, received({ ...of('over'), ...W2 })],
    [5, received({ ...of('runs'), ...W2 })],
    [5, received({ ...of('waits'), ...W2 })],
    [6, started({ ...of('over'), ...W2 })],
    [6, started({ ...of('runs'), ...W2 })],
    [7, succeeded({ ...of('over'), ...W2 })],
    [20, heartbeat(1, W2)],
  ]);
  const later = surveyAt(on, 40);
  assert.deepEqual(lostLines(on), []);
  assert.deepEqual(ages(later), ['orders waiting 35', 'orders running 34']);
});

test('after a restart under the same name, what ran before is lost once the old process has fallen silent', () => {
  const on = watch();
  tell(on, [
    ...running('u1', 0, { pid: 17 }),
    [2, signal('worker-online', { pid: 18 })],
    [9, heartbeat(0, { pid: 18 })],
  ]);
  surveyAt(on, 10);
  assert.deepEqual(lostLines(on), [], 'its last words may still come');
  const { workers } = surveyAt(on, 10.1);
  assert.deepEqual(lostLines(on), ['lost shop.pay orders w1@shop']);
  assert.deepEqual(
    workers.map(({ worker, up }) => [worker, up]),
    [[WORKER, true]],
  );
});

test('workers that share a name lose nothing to each other', () => {
  const on = watch();
  tell(on, running('u1', 0, { pid: 17 }));
  tell(on, running('u2', 1, { pid: 18 }));
  for (let atS = 2; atS < 60; atS += 2) {
    tell(on, [
      [atS, heartbeat(1, { pid: 17 })],
      [atS + 1, heartbeat(1, { pid: 18 })],
    ]);
    surveyAt(on, atS + 1);
  }
  assert.deepEqual(lostLines(on), []);
});

test('what a worker says it does not run has left without an end: it neither runs nor is it lost', () => {
  const on = watch();
  // `Ignore` tells of no end.
  tell(on, [...running('ignored', 0), [2, heartbeat(0)]]);
  assert.deepEqual(ages(surveyAt(on, 3)), ['orders running 3'], 'an end might still be on its way');
  assert.deepEqual(ages(surveyAt(on, 5)), []);
  surveyAt(on, 60);
  assert.deepEqual(lostLines(on), []);
  // To forget it is no loss.
  assert.deepEqual(on.cluster.tables().tasks, { size: 1, evicted: 0 });
});

test('of a worker that is never idle those begun last are the ones that run', () => {
  const on = watch();
  tell(on, [...running('ignored', 0), ...running('u1', 1), ...running('u2', 2), [4, heartbeat(2)]]);
  assert.deepEqual(ages(surveyAt(on, 6)), ['orders running 5']);
  surveyAt(on, 60);
  assert.equal(lostLines(on).length, 2);
});

test('a run that was taken for left is itself again once more is told of it', () => {
  const on = watch();
  tell(on, [...running('u1', 0), [2, heartbeat(0)]]);
  surveyAt(on, 5);
  tell(on, [[20, failed('KeyError', of('u1'))]]);
  surveyAt(on, 22);
  assert.deepEqual(on.news().slice(-1).map(line), ['failed shop.pay orders w1@shop KeyError 20s']);
});

test('tasks that began after the last word of their worker are not doubted', () => {
  const on = watch();
  tell(on, [[0, heartbeat(0)], ...running('u1', 0.1), ...running('u2', 1)]);
  assert.deepEqual(ages(surveyAt(on, 20)), ['orders running 19.9']);
});

test('after a gap nobody knows what still waits; what runs is known by its worker', () => {
  const on = watch();
  tell(on, [
    [0, sent(of('u1'))],
    [0, sent(of('u2'))],
    [1, received(of('u2'))],
    ...running('u3', 1),
    [1, sent(of('u4'))],
    [1, received({ ...of('u4'), ...eta(2) })],
  ]);
  assert.deepEqual(held(surveyAt(on, 5)), ['w1@shop 2 0']);
  on.cluster.gap();
  const doubtful = surveyAt(on, 6);
  assert.deepEqual([held(doubtful), ages(doubtful)], [['w1@shop 0 0'], ['orders running 5']]);
  // What is told of them later has their name, queue and times all the same.
  tell(on, [
    [7, received(of('u1'))],
    [8, started(of('u2'))],
  ]);
  const known = surveyAt(on, 10);
  assert.deepEqual([held(known), ages(known)], [['w1@shop 1 0'], ['orders waiting 10', 'orders running 9']]);
  const wait = on.observed.find((it) => it.kind === 'task-started' && it.waitTimeS === 8);
  assert.ok(wait?.kind === 'task-started' && wait.prefetchTimeS === 7);
});

test('a worker that had to be forgotten for lack of room takes nothing with it', () => {
  const on = watch({ workersMax: 1 });
  tell(on, [...running('u1', 0), [1, heartbeat(0, W2)]]);
  surveyAt(on, 100);
  assert.deepEqual(lostLines(on), []);
});

test('clients lose nothing and hold nothing', () => {
  const on = watch();
  tell(on, running('u1', 0, { hostname: 'gen7@shop' }));
  const later = surveyAt(on, 100);
  assert.deepEqual([later.workers, later.queues, lostLines(on)], [[], [], []]);
});

test('a goodbye is no death: what still runs then may end, and is lost only after the time-out', () => {
  const on = watch();
  tell(on, [
    ...running('u1', 0),
    ...running('u2', 0),
    [5, signal('worker-offline', { active: 2 })],
    [8, succeeded(of('u1'))],
  ]);
  surveyAt(on, 8 + TIMEOUT_S);
  assert.deepEqual(lostLines(on), []);
  surveyAt(on, 8.1 + TIMEOUT_S);
  assert.deepEqual(lostLines(on), ['lost shop.pay orders w1@shop']);
});

test('at the end everything that waits is observed, and nobody is given up for it', () => {
  const on = watch();
  tell(on, [...running('u1', 0), [0, heartbeat(1)]]);
  on.cluster.flush();
  const last = on.cluster.survey(T0_MS + windowMs - 1);
  assert.deepEqual(
    last.workers.map(({ up, active }) => [up, active]),
    [[true, 1]],
  );
  assert.deepEqual(
    on.news().map(({ kind }) => kind),
    ['task-sent', 'task-received', 'task-started'],
  );
});
