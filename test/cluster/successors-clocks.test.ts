/** Processes that follow one another while a clock is set: by their logical clocks, and the order in which events come. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CeleryEvent } from '../../src/celery/event.ts';
import { received, signal, started, succeeded, T0_MS, type Watched, WORKER, watch } from './events.ts';
import { heartbeat, heartbeats, news, of, report, running, type Story, upAt } from './stories.ts';

const LOST = 'lost shop.pay orders w1@shop';
const [REPLACED, RESTARTED] = ['exited w1@shop replaced', 'exited w1@shop restarted'];

/** Tells it by a clock that is so far behind. */
function tellBehind(on: Watched, backS: number, story: Story): void {
  for (const [atS, event] of story)
    on.cluster.apply({ ...event, timestampMs: T0_MS + (atS - backS) * 1_000 }, T0_MS + atS * 1_000);
}

test('events sent before a clock was set back that arrive after those sent since are no restart', () => {
  const on = watch();
  report(on, [...running('u1', 0), ...heartbeats(2, 8, 1, { clock: 20 })]);
  tellBehind(on, 60, [[10.3, heartbeat(1, { clock: 40 })]]);
  for (const clock of [30, 31])
    on.cluster.apply(heartbeat(1, { clock, timestampMs: T0_MS + 10_000 }), T0_MS + 10_400);
  tellBehind(on, 60, heartbeats(12, 40, 1, { clock: 50 }));
  assert.deepEqual(upAt(on, 41), [[WORKER, true]]);
  assert.deepEqual(news(on), []);
});

test('what is delivered again and ends before the restart is known is not lost with either process', () => {
  const on = watch();
  report(on, [[0, signal('worker-online', { clock: 2 })], ...running('u1', 1, { clock: 100 })]);
  report(on, heartbeats(2, 8, 1, { clock: 110, processed: 5 }));
  report(on, [
    [11, received({ ...of('u1'), clock: 3 })],
    [11, started({ ...of('u1'), clock: 4 })],
    [11.2, succeeded({ ...of('u1'), clock: 5 })],
    ...heartbeats(13, 15, 0, { clock: 6 }),
  ]);
  report(on, [
    [20, signal('worker-online', { pid: 18, clock: 2 })],
    ...heartbeats(22, 60, 0, { pid: 18, clock: 9 }),
  ]);
  upAt(on, 61);
  assert.deepEqual(news(on), [RESTARTED, REPLACED]);
});

test('late events of a forgotten process do not replace one with the pool solo, which is silent', () => {
  const on = watch();
  report(on, heartbeats(0, 8, 0));
  report(on, [
    [20, signal('worker-online', { pid: 18 })],
    ...heartbeats(22, 40, 0, { pid: 18, processed: 0 }),
  ]);
  upAt(on, 41);
  assert.deepEqual(news(on), [REPLACED]);
  report(on, running('u1', 42, { pid: 18 }));
  tellBehind(on, 35, heartbeats(44, 70, 0));
  upAt(on, 71);
  report(on, [[75, succeeded({ ...of('u1'), pid: 18 })]]);
  upAt(on, 77);
  assert.deepEqual(
    news(on).filter((each) => each.startsWith('lost')),
    [],
  );
});

/** A container that dies with a task and restarts; its `worker-online` may be missed, or its clock may be set back. */
function deliveredAgain(greets: boolean, backS: number): Watched {
  const on = watch();
  const again = (atS: number, event: CeleryEvent): void =>
    on.cluster.apply({ ...event, timestampMs: T0_MS + (atS - backS) * 1_000 }, T0_MS + atS * 1_000);
  report(on, [
    [0, signal('worker-online')],
    ...running('u1', 10, { clock: 100 }),
    [10, received({ ...of('old'), clock: 101, etaMs: T0_MS + 3_600_000 })],
    ...heartbeats(12, 30, 1, { clock: 110, processed: 10 }),
  ]);
  upAt(on, 31);
  if (greets) again(32, signal('worker-online', { clock: 1 }));
  again(33.5, received({ ...of('u1'), clock: 3 }));
  again(33.6, started({ ...of('u1'), clock: 4 }));
  again(33.7, received({ ...of('waits'), clock: 5 }));
  again(33.7, received({ ...of('scheduled'), clock: 6, etaMs: T0_MS + 3_600_000 }));
  for (let atS = 35; atS < 80; atS += 2) {
    again(atS, heartbeat(1, { clock: atS }));
    upAt(on, atS);
  }
  return on;
}

for (const [what, greets, backS] of [
  ['with a worker-online', true, 0],
  ['without a worker-online', false, 0],
  ['by a clock that was set back', true, 5],
] as const) {
  test(`a task that is delivered to the restarted process, ${what}, is not lost, and what waits there is there`, () => {
    const on = deliveredAgain(greets, backS);
    const [worker] = on.cluster.view(T0_MS + 81_000).workers;
    assert.deepEqual([worker?.up, worker?.active, worker?.prefetched, worker?.scheduled], [true, 1, 1, 1]);
    report(on, [[90, succeeded({ ...of('u1'), clock: 900 })]]);
    upAt(on, 95);
    assert.deepEqual(news(on), [RESTARTED]);
  });
}

/** How far the successor’s clock is off, and since when and how far ours. */
const CLOCKS: Readonly<Record<string, { offMs?: number; setAtS?: number; setMs?: number }>> = {
  'all clocks are right': {},
  'the clock of the successor is ten seconds behind': { offMs: -10_000 },
  'the clock of the successor is an hour behind': { offMs: -3_600_000 },
  'the clock of the successor is an hour ahead': { offMs: 3_600_000 },
  'our clock is set forward by ten seconds': { setAtS: 22, setMs: 10_000 },
  'our clock is set forward by half a minute': { setAtS: 22, setMs: 30_000 },
  'our clock is set forward by an hour': { setAtS: 22, setMs: 3_600_000 },
  'our clock is set back by an hour': { setAtS: 22, setMs: -3_600_000 },
};
/** What the old process sends before it is killed with the task `old`. */
const OLD: Readonly<Record<string, Story>> = {
  'sent heartbeats while it ran a task': [
    ...running('old', 0, { pid: 17 }),
    ...heartbeats(2, 20, 1, { pid: 17 }),
  ],
  'sent no heartbeat while it ran a task': [
    [0, signal('worker-online', { pid: 17 })],
    ...heartbeats(2, 18, 0, { pid: 17, processed: 0 }),
    ...running('old', 19, { pid: 17 }),
  ],
  'lived for three seconds': [[18, signal('worker-online', { pid: 17 })], ...running('old', 21, { pid: 17 })],
};
for (const [which, old] of Object.entries(OLD)) {
  for (const [what, { offMs = 0, setAtS = 0, setMs = 0 }] of Object.entries(CLOCKS)) {
    test(`the successor of a process that ${which} is found, and is up, where ${what}`, () => {
      const on = watch();
      const beats = (fromS: number, toS: number): Story =>
        heartbeats(fromS, toS, 0, { pid: 18, processed: 0 });
      const story: Story = [
        ...old,
        [25, signal('worker-online', { pid: 18 })],
        ...beats(26, 60),
        // Pool solo is silent while it runs a task.
        ...running('new', 61, { pid: 18 }),
        [86, succeeded({ ...of('new'), pid: 18 })],
        ...beats(88, 100),
      ];
      let collectS = 20;
      for (const [atS, event] of story) {
        for (; collectS < atS; collectS += 5) assert.deepEqual(upAt(on, collectS), [[WORKER, true]]);
        const listenedMs = T0_MS + atS * 1_000;
        const timestampMs = listenedMs + (event.pid === 18 ? offMs : 0);
        on.cluster.apply({ ...event, timestampMs }, listenedMs + (atS >= setAtS ? setMs : 0), listenedMs);
      }
      upAt(on, 101);
      assert.deepEqual(news(on), [LOST, REPLACED]);
    });
  }
}

for (const stopsUs of [true, false]) {
  const whose = stopsUs ? 'we were stopped' : 'no event arrived';
  test(`a process that is replaced twice while ${whose} exits once, and so does the one between`, () => {
    const on = watch();
    report(on, [[0, signal('worker-online', { pid: 17 })], ...running('old', 1, { pid: 17 })]);
    const story: Story = [
      [24, signal('worker-online', { pid: 18 })],
      ...heartbeats(26, 32, 0, { pid: 18, processed: 0 }),
      [36, signal('worker-online', { pid: 19 })],
      ...heartbeats(38, 100, 0, { pid: 19, processed: 0 }),
    ];
    // Nothing arrives from 10 s to 60 s.
    const stoppedMs = stopsUs ? 50_000 : 0;
    for (const [atS, event] of story) {
      const arrivedMs = T0_MS + Math.max(60, atS) * 1_000;
      on.cluster.apply({ ...event, timestampMs: T0_MS + atS * 1_000 }, arrivedMs, arrivedMs - stoppedMs);
    }
    upAt(on, 101, stoppedMs / 1_000);
    assert.deepEqual(news(on), [LOST, REPLACED, REPLACED]);
  });
}

/** Times as decoding gives them. */
const TIMES: Readonly<Record<string, (event: CeleryEvent, atMs: number, arrivedMs: number) => CeleryEvent>> =
  {
    'the clock of the successor is an hour behind': (event, atMs) => ({
      ...event,
      timestampMs: T0_MS + atMs - (event.pid === 18 ? 3_600_000 : 0),
    }),
    'their clock is of 1970': (event, atMs, arrivedMs) => ({
      ...event,
      timestampMs: arrivedMs,
      implausibleMs: atMs,
    }),
  };
for (const [what, timed] of Object.entries(TIMES)) {
  test(`what is delivered to a successor with another pid while we are stalled is not lost, where ${what}`, () => {
    const on = watch();
    const story: Story = [
      [9, signal('worker-online', { pid: 17 })],
      ...running('u1', 10, { pid: 17, clock: 20 }),
      [24, signal('worker-online', { pid: 18 })],
      [25, received({ ...of('u1'), pid: 18, clock: 5 })],
      [26, started({ ...of('u1'), pid: 18, clock: 6 })],
      ...heartbeats(27, 57, 1, { pid: 18 }),
      [58, succeeded({ ...of('u1'), pid: 18, clock: 7 })],
      ...heartbeats(59, 100, 0, { pid: 18 }),
    ];
    for (const [atS, event] of story) {
      const arrivedMs = T0_MS + Math.max(60, atS) * 1_000;
      on.cluster.apply(timed(event, atS * 1_000, arrivedMs), arrivedMs, arrivedMs);
    }
    upAt(on, 101);
    assert.deepEqual(news(on), [REPLACED]);
  });
}
