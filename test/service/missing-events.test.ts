/** Reports of missing events, by tables of the input in each second. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Finding, MissingEvents } from '../../src/service/missing-events.ts';

const QUIET_MS = 60_000;
const LOOK_S = 5;

type Arrival = (missing: MissingEvents) => void;

const heartbeat =
  (processed: number | undefined, hostname = 'w1@shop'): Arrival =>
  (missing) =>
    missing.note({ type: 'worker-heartbeat', hostname, processed });
const slow =
  (freqS: number, hostname = 'w1@shop'): Arrival =>
  (missing) =>
    missing.note({ type: 'worker-heartbeat', hostname, processed: 0, freqS });
const taskEvent =
  (type = 'task-started', hostname = 'w1@shop'): Arrival =>
  (missing) =>
    missing.note({ type, hostname });
const unreadable: Arrival = (missing) => missing.noteUnreadable();
const gap: Arrival = (missing) => missing.gap();

/** The input in each second, and the reports, each with its second. */
function play(
  seconds: number,
  at: (second: number) => readonly Arrival[],
): readonly (readonly [number, Finding])[] {
  const missing = new MissingEvents(QUIET_MS);
  const found: (readonly [number, Finding])[] = [];
  for (let second = 0; second < seconds; second += 1) {
    if (second % LOOK_S === 0)
      found.push(...missing.check(second * 1000).map((each) => [second, each] as const));
    for (const arrive of at(second)) arrive(missing);
  }
  return found;
}

const kinds = (found: readonly (readonly [number, Finding])[]) =>
  found.map(([second, { kind }]) => `${second} ${kind}`).join(', ');
const MISSING = { kind: 'task-events-missing', workers: ['w1@shop'], more: 0 } as const;
/** Celery’s own pace. */
const beats = (second: number): boolean => second % 2 === 0;

test('a minute without events is reported once, and its end with the duration', () => {
  assert.deepEqual(
    play(1000, (second) => (second === 700 ? [taskEvent('task-sent', 'gen1@web')] : [])).slice(0, 2),
    [
      [60, { kind: 'events-missing', forMs: 60_000, unread: 0 }],
      [705, { kind: 'events-resumed', afterMs: 705_000 }],
    ],
  );
});

test('undecodable messages are no events, but are mentioned', () => {
  const found = play(200, (second) => {
    if (second === 2) return [unreadable, heartbeat(0)];
    return second > 10 && second <= 15 ? [unreadable, unreadable] : [];
  });
  assert.deepEqual(found, [[65, { kind: 'events-missing', forMs: 60_000, unread: 10 }]]);
});

test('silence is reported again after events in between', () => {
  const found = play(300, (second) => (second === 1 || second === 100 ? [heartbeat(0)] : []));
  assert.equal(kinds(found), '65 events-missing, 105 events-resumed, 165 events-missing');
});

test('heartbeats that are slow by design are no silence, until 2.5 of them are missing', () => {
  const found = play(4000, (second) => (second % 1000 === 0 && second < 2000 ? [slow(1000)] : []));
  assert.equal(kinds(found), '3505 events-missing');
  // A forged announcement hides a silence for hours, but not for ever.
  const forged = play(4 * 3600, (second) => (second === 0 ? [slow(1_000_000)] : []));
  assert.equal(kinds(forged), `${2.5 * 3600 + LOOK_S} events-missing`);
});

test('one worker with slow heartbeats, or a forged one, hides no silence of the others', () => {
  const forged = slow(3600, 'forged@x');
  const found = play(4000, (second) => [
    ...(second < 100 && beats(second) ? [heartbeat(7)] : []),
    ...(second === 50 ? [forged] : []),
  ]);
  assert.equal(kinds(found), '160 events-missing');
});

test('workers that are slow by design are waited for, though a faster one has gone', () => {
  const gone: Arrival = (missing) =>
    missing.note({ type: 'worker-offline', hostname: 'fast@shop', processed: 0 });
  const play3 = (last: readonly Arrival[], isAlone: boolean) =>
    play(4000, (second) => [
      ...(second % 100 === 0 ? [slow(100), ...(isAlone ? [] : [slow(100, 'w2@shop')])] : []),
      ...(second < 150 && beats(second) ? [heartbeat(7, 'fast@shop')] : second === 150 ? last : []),
    ]);
  assert.deepEqual(play3([gone], true), []);
  assert.deepEqual(play3([], false), [], 'killed: it is one of three');
});

/** Input of a worker that sends all its task events, or has none to send. */
const IN_ORDER: readonly (readonly [what: string, at: (second: number) => readonly Arrival[]])[] = [
  ['is idle', (second) => (beats(second) ? [heartbeat(7)] : [])],
  [
    'runs a task an hour long',
    (second) => [
      ...(second === 31 ? [taskEvent('task-received'), taskEvent()] : []),
      ...(beats(second) ? [heartbeat(second > 31 ? 8 : 7)] : []),
    ],
  ],
  [
    'reports the task just after the heartbeat that counts it',
    (second) => [
      ...(beats(second) ? [heartbeat(second >= 34 ? 8 : 7)] : []),
      ...(second === 35 ? [taskEvent()] : []),
    ],
  ],
  ['had begun its tasks before the bridge came', (second) => (beats(second) ? [heartbeat(123_456)] : [])],
  [
    'began tasks whose events were sent while the bridge was away',
    (second) => [
      ...(second === 101 ? [gap] : []),
      ...(beats(second) ? [heartbeat(second > 101 ? 900 : 7)] : []),
    ],
  ],
  [
    'has a single thread, and says nothing while it runs a task an hour long',
    (second) => {
      if (second <= 30) return beats(second) ? [heartbeat(second === 30 ? 8 : 7)] : [];
      // Its heartbeat is sent before the buffered task events.
      return second === 704 ? [heartbeat(9)] : second === 705 ? [taskEvent()] : [];
    },
  ],
  [
    'is started anew, which is no growth',
    (second) => (beats(second) ? [heartbeat(second < 100 ? 50 : 3)] : []),
  ],
  ['answers remote control without figures', (second) => (beats(second) ? [heartbeat(undefined)] : [])],
  ['runs tasks all the time', (second) => [taskEvent(), ...(beats(second) ? [heartbeat(second)] : [])]],
];

for (const [what, at] of IN_ORDER) {
  test(`a worker that ${what} is not reported`, () => {
    const found = play(1000, at).filter(([, { kind }]) => kind.startsWith('task-events'));
    assert.deepEqual(found, []);
  });
}

test('a worker that runs tasks without task events is reported once after a minute, and when it sends one', () => {
  const found = play(4000, (second) => [
    ...(beats(second) ? [heartbeat(second > 100 ? Math.floor(second / 10) : 3)] : []),
    ...(second > 3000 ? [taskEvent()] : []),
  ]);
  assert.deepEqual(found, [
    [160, MISSING],
    [3005, { kind: 'task-events-resumed' }],
  ]);
});

test('one task without an event within a minute is enough', () => {
  const found = play(4000, (second) => (beats(second) ? [heartbeat(second > 1000 ? 4 : 3)] : []));
  assert.deepEqual(found, [[1060, MISSING]]);
});

test('what an application sends on its own is no task event of its worker', () => {
  const found = play(200, (second) => (beats(second) ? [heartbeat(second), taskEvent('task-traced')] : []));
  assert.deepEqual(
    found.map(([, finding]) => finding),
    [MISSING],
  );
});

test('it is also found with rarer heartbeats', () => {
  const found = play(4000, (second) => (second % 30 === 0 ? [heartbeat(second)] : []));
  assert.equal(kinds(found), '125 task-events-missing');
});

test('only workers without task events are named, whatever the others send', () => {
  const found = play(1000, (second) => [
    ...(beats(second) ? ['a@shop', 'b@shop', 'c@shop'].map((name) => heartbeat(second, name)) : []),
    taskEvent('task-started', 'b@shop'),
    taskEvent('task-sent', 'gen17@shop'),
  ]);
  assert.deepEqual(
    found.map(([, finding]) => finding),
    [{ kind: 'task-events-missing', workers: ['a@shop', 'c@shop'], more: 0 }],
  );
});

test('of many workers five are named, and it is reported again when they are twice as many', () => {
  const found = play(1000, (second) =>
    beats(second)
      ? Array.from({ length: second < 300 ? 20 : second < 600 ? 39 : 70 }, (_, index) =>
          heartbeat(second, `w${index}@shop`),
        )
      : [],
  );
  assert.deepEqual(
    found.map(([, finding]) =>
      finding.kind === 'task-events-missing' ? [finding.workers.length, finding.more] : finding,
    ),
    [
      [5, 15],
      [5, 65],
    ],
  );
});

test('short sessions do not add up: each begins with its own heartbeats', () => {
  const found = play(1000, (second) => [
    ...(second % 40 === 0 ? [gap] : []),
    ...(beats(second) ? [heartbeat(second)] : []),
  ]);
  assert.deepEqual(found, []);
});

test('a report is not repeated after a gap or a restart', () => {
  const found = play(1000, (second) => [
    ...(second === 200 ? [gap] : []),
    ...(beats(second) ? [heartbeat(second < 400 ? second : second - 400)] : []),
  ]);
  assert.equal(kinds(found), '65 task-events-missing');
});

test('it also ends when such a worker is long gone', () => {
  const found = play(2000, (second) => [
    ...(beats(second) && second < 200 ? [heartbeat(second)] : []),
    ...(beats(second) ? [heartbeat(3, 'idle@shop')] : []),
  ]);
  assert.equal(kinds(found), '65 task-events-missing, 1100 task-events-resumed');
});

test('at most a thousand workers are watched, and those that are gone make room', () => {
  const missing = new MissingEvents(QUIET_MS);
  let listenedS = 0;
  const found: Finding[] = [];
  const pass = (seconds: number, arrivals: readonly Arrival[]): void => {
    for (let second = 0; second < seconds; second += LOOK_S, listenedS += LOOK_S) {
      found.push(...missing.check(listenedS * 1000));
      for (const arrive of arrivals) arrive(missing);
    }
  };
  pass(
    LOOK_S,
    Array.from({ length: 10_000 }, (_, index) => heartbeat(1, `flood${index}@x`)),
  );
  let processed = 0;
  const working: Arrival = (each) => {
    processed += 1;
    heartbeat(processed)(each);
  };
  pass(15 * 60, [working]);
  assert.deepEqual(found, []);
  pass(90, [working]);
  assert.deepEqual(found, [MISSING]);
});

test('a long task of a worker with events causes no warning, wherever it starts between heartbeats and checks', () => {
  for (let offset = 0; offset < 10; offset += 1) {
    for (const counted of [0, 1, 2]) {
      const startS = 20 + offset;
      const found = play(300, (second) => [
        ...(second === startS ? [taskEvent('task-received'), taskEvent('task-started')] : []),
        ...(beats(second) ? [heartbeat(second >= startS + counted ? 1 : 0)] : []),
      ]);
      assert.deepEqual(found, [], `started at ${startS} s, counted ${counted} s later`);
    }
  }
});
