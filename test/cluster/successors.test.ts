/** Processes that replace each other under one name, or share it: each exits once, for the right reason. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CeleryEvent } from '../../src/celery/event.ts';
import { received, signal, started, succeeded, T0_MS, WORKER, watch } from './events.ts';
import { heartbeat, heartbeats, news, of, progress, report, running, type Story, upAt } from './stories.ts';

const LOST = 'lost shop.pay orders w1@shop';
const [GOODBYE, SILENCE] = ['exited w1@shop goodbye', 'exited w1@shop silence'];
const [REPLACED, RESTARTED] = ['exited w1@shop replaced', 'exited w1@shop restarted'];

test('two containers with one nodename and pid during a deploy do not count for each other', () => {
  const on = watch();
  report(on, heartbeats(0, 20, 1, { processed: 5_000, clock: 9_000 }));
  report(on, [[22, signal('worker-online', { processed: 0, clock: 2 })]]);
  for (let atS = 23; atS < 33; atS += 2) {
    report(on, [
      [atS, heartbeat(1, { processed: 5_000, clock: 9_100 + atS })],
      [atS + 1, heartbeat(0, { processed: 0, clock: 9_101 + atS })],
    ]);
  }
  report(on, [[34, signal('worker-offline', { processed: 5_000, clock: 9_200 })]]);
  report(on, heartbeats(35, 59, 0, { processed: 0, clock: 9_300 }));
  assert.deepEqual(upAt(on, 60), [[WORKER, true]]);
  assert.deepEqual(news(on), [GOODBYE]);
  assert.deepEqual(progress(on), { processed: 0, lost: 0 });

  report(on, [...running('u1', 62), ...heartbeats(63, 93, 1, { processed: 1, clock: 9_500 })]);
  assert.equal(progress(on).processed, 1, 'the new one counts');
  report(on, [
    [100, signal('worker-online', { processed: 0, clock: 2 })],
    ...heartbeats(102, 120, 0, { processed: 0, clock: 20 }),
  ]);
  upAt(on, 121);
  assert.deepEqual(news(on), [LOST, RESTARTED]);
});

test('a process that returns after a time-out has exited once', () => {
  const on = watch();
  report(on, [...running('u1', 0), ...heartbeats(2, 10, 1, { processed: 5, clock: 90 })]);
  upAt(on, 140);
  assert.deepEqual(news(on), [LOST, SILENCE]);
  report(on, [
    [190, signal('worker-online', { processed: 0, clock: 2 })],
    ...heartbeats(192, 210, 0, { processed: 0, clock: 9 }),
  ]);
  upAt(on, 211);
  assert.deepEqual(news(on), []);
});

test('processes beyond the limit under one name are counted, and their tasks are not lost', () => {
  const on = watch();
  for (let atS = 0; atS < 40; atS += 2) {
    for (let pid = 1; pid <= 9; pid += 1) {
      report(on, [
        ...(atS === 0 ? running(`u${pid}`, 0, { pid }) : []),
        [atS + pid / 10, heartbeat(1, { pid })],
      ]);
    }
    upAt(on, atS + 1);
  }
  assert.deepEqual(news(on), []);
  assert.ok(on.cluster.beyondFixedBounds() > 0);
});

test('events in a long reordering window are no loss', () => {
  for (const lateS of [0, 13]) {
    const on = watch({ windowMs: 15_000 });
    report(on, [...running('u1', 0), ...heartbeats(2, 18, 1)]);
    const arrivals: (readonly [atS: number, event: CeleryEvent])[] = [
      [19 + lateS, succeeded({ ...of('u1'), timestampMs: T0_MS + 19_000 })],
      [20, signal('worker-online', { pid: 18, timestampMs: T0_MS + 20_000 })],
      ...heartbeats(22, 80, 0, { pid: 18, processed: 0 }).map(
        ([atS, event]) => [atS, { ...event, timestampMs: T0_MS + atS * 1_000 }] as const,
      ),
    ];
    for (const [atS, event] of arrivals.toSorted(([one], [other]) => one - other)) {
      on.cluster.apply(event, T0_MS + atS * 1_000);
      upAt(on, atS + 1);
    }
    upAt(on, 90);
    assert.deepEqual(news(on), [REPLACED], `${lateS} s late`);
  }
});

test('an event with a future timestamp does not hide the death of its process', () => {
  for (const timestampMs of [T0_MS + 30_000, 9_999_999_999_000]) {
    const on = watch();
    report(on, [...running('u1', 0), ...heartbeats(2, 8, 1)]);
    on.cluster.apply(received({ uuid: 'x', timestampMs }), T0_MS + 9_000);
    report(on, [
      [20, signal('worker-online', { pid: 18 })],
      ...heartbeats(22, 60, 0, { pid: 18, processed: 0 }),
    ]);
    upAt(on, 61);
    assert.deepEqual(news(on), [LOST, REPLACED]);
  }
});

test('a reconnect within a second is no exit, whenever a collection is made', () => {
  for (const apartS of [0.02, 0.99, 1, 1.05]) {
    const on = watch({ windowMs: 1_000 });
    report(on, [...running('u1', 0), ...heartbeats(2, 8, 1, { clock: 50 })]);
    report(on, [[10, signal('worker-offline', { active: 1, processed: 1, clock: 60 })]]);
    assert.deepEqual(upAt(on, 10 + apartS - 0.01), [[WORKER, true]]);
    report(on, [[10 + apartS, signal('worker-online', { active: 1, processed: 1, clock: 61 })]]);
    report(on, heartbeats(12, 30, 1, { clock: 70 }));
    assert.deepEqual(upAt(on, 31), [[WORKER, true]]);
    assert.deepEqual(news(on), []);
  }
});

test('a warm shutdown that overlaps with its successor loses nothing', () => {
  for (const pid of [18, 17]) {
    const on = watch();
    report(on, [...running('u1', 0), ...heartbeats(2, 8, 1, { clock: 90 })]);
    report(on, [
      [10, signal('worker-offline', { active: 1, processed: 1, clock: 100 })],
      [12, signal('worker-online', { pid, processed: 0, clock: 2 })],
      ...heartbeats(14, 60, 0, { pid, processed: 0, clock: 9 }),
    ]);
    upAt(on, 61);
    report(on, [[62, succeeded(of('u1'))]]);
    upAt(on, 64);
    assert.deepEqual(news(on), [GOODBYE]);
  }
});

test('the pool gevent sends heartbeats after its goodbye until its tasks end, and does not take it back by them', () => {
  for (const [successor, processed] of [
    [undefined, 1],
    [18, 1],
    [17, 30],
  ] as const) {
    const on = watch();
    const isUp = successor !== undefined;
    report(on, [...running('u1', 0), ...heartbeats(2, 8, 1, { processed, clock: 90 })]);
    report(on, [[9.5, signal('worker-offline', { active: 1, processed, clock: 100 })]]);
    for (let atS = 10; atS < 60; atS += 2) {
      report(on, [[atS, heartbeat(1, { processed, clock: 100 + atS })]]);
      if (atS === 14 && isUp)
        report(on, [[atS + 0.1, signal('worker-online', { pid: successor, clock: 2 })]]);
      if (atS > 14 && isUp)
        report(on, [[atS + 0.1, heartbeat(0, { pid: successor, processed: 0, clock: atS })]]);
      for (const laterS of [0.2, 1.9]) {
        if (atS > 14) assert.deepEqual(upAt(on, atS + laterS), [[WORKER, isUp]], `${atS + laterS}`);
      }
    }
    report(on, [[60, succeeded({ ...of('u1'), clock: 170 })]]);
    for (const atS of [61, 100, 200, 1_000]) upAt(on, atS);
    assert.deepEqual(news(on), isUp ? [GOODBYE, SILENCE] : [GOODBYE], `successor ${successor}`);
  }
});

test('a heartbeat takes a goodbye back on a later connection of ours, where its worker-online may have been missed', () => {
  const on = watch();
  report(on, [...heartbeats(0, 8, 1), [9, signal('worker-offline', { processed: 1 })]]);
  assert.deepEqual(upAt(on, 15), [[WORKER, false]]);
  on.cluster.gap();
  report(on, heartbeats(20, 30, 1));
  assert.deepEqual(upAt(on, 31), [[WORKER, true]]);
  report(on, [[32, signal('worker-offline', { processed: 1 })]]);
  report(on, [[34, signal('worker-online', { active: 1, processed: 1 })]]);
  assert.deepEqual(upAt(on, 36), [[WORKER, true]]);
  report(on, [[38, signal('worker-offline', { processed: 1 })]]);
  assert.deepEqual(upAt(on, 45), [[WORKER, false]]);
  assert.deepEqual(news(on), [GOODBYE, GOODBYE]);
});

/** Each with one more task begun than the one before. */
const busyBeats = (fromS: number, toS: number, active: number, clock: number): Story =>
  heartbeats(fromS, toS, 0).map(([atS], at) => [
    atS,
    heartbeat(active, { processed: 2 + at, clock: clock + at }),
  ]);

test('a worker whose worker-online was missed is up again: idle soon after its goodbye, busy after lost_timeout', () => {
  for (const { what, beats, downAtS, upAtS } of [
    { what: 'idle', beats: heartbeats(10, 160, 0, { clock: 110 }), downAtS: 13, upAtS: 17 },
    { what: 'busy', beats: busyBeats(10, 160, 1, 110), downAtS: 128, upAtS: 133 },
    { what: 'short tasks', beats: busyBeats(10, 160, 0, 110), downAtS: 128, upAtS: 133 },
  ]) {
    const on = watch();
    report(on, [...running('u1', 0), ...heartbeats(2, 8, 1, { clock: 90 })]);
    report(on, [[9, signal('worker-offline', { active: 1, processed: 1, clock: 100 })]]);
    for (const beat of beats) {
      report(on, [beat]);
      const atS = beat[0] + 1;
      const isUp = upAt(on, atS)[0]?.[1];
      if (atS > 12 && (atS <= downAtS || atS >= upAtS)) assert.equal(isUp, atS >= upAtS, `${what} at ${atS}`);
    }
    assert.deepEqual(news(on), [GOODBYE], what);
    report(on, [[162, signal('worker-offline', { active: 0, processed: 90, clock: 300 })]]);
    assert.deepEqual(upAt(on, 170), [[WORKER, false]], what);
    assert.deepEqual(news(on), [GOODBYE], what);
  }
});

test('one idle heartbeat after a goodbye that reported none active does not take it back', () => {
  const on = watch();
  report(on, [...running('u1', 0), ...heartbeats(2, 8, 1, { clock: 90 })]);
  report(on, [[9, signal('worker-offline', { active: 0, processed: 1, clock: 100 })]]);
  report(on, [[16, heartbeat(0, { clock: 110 })]]);
  for (const atS of [20, 60, 200]) assert.deepEqual(upAt(on, atS), [[WORKER, false]]);
  assert.deepEqual(news(on), [GOODBYE]);
});

test('the pool gevent receives and begins prefetched tasks after its goodbye, and does not take it back by them', () => {
  const on = watch();
  report(on, [...running('u1', 0), ...heartbeats(2, 8, 1, { clock: 90 })]);
  report(on, [[9, signal('worker-offline', { active: 1, processed: 1, clock: 100 })]]);
  for (let atS = 10; atS < 60; atS += 10) {
    const [uuid, clock] = [`after ${atS}`, 100 + atS];
    report(on, [
      ...running(uuid, atS, { clock }),
      [atS + 0.1, heartbeat(0, { processed: 1 + atS / 10, clock })],
    ]);
    assert.deepEqual(upAt(on, atS + 2), [[WORKER, false]]);
    report(on, [[atS + 9, succeeded({ ...of(uuid), clock: clock + 5 })]]);
  }
  report(on, [[61, succeeded({ ...of('u1'), clock: 170 })]]);
  for (const atS of [62, 200, 1_000]) upAt(on, atS);
  assert.deepEqual(news(on), [GOODBYE]);
});

test('a container that comes back after its goodbye loses what it was running only when it is forgotten', () => {
  for (const pid of [17, 18]) {
    const on = watch();
    report(on, [...running('u1', 0), ...heartbeats(2, 8, 1, { clock: 90 })]);
    report(on, [
      [10, signal('worker-offline', { active: 1, processed: 1, clock: 100 })],
      [22, signal('worker-online', { pid, clock: 2 })],
      ...heartbeats(24, 608, 0, { pid, processed: 0, clock: 9 }),
    ]);
    upAt(on, 609);
    assert.deepEqual(news(on), [GOODBYE], 'it may still finish it');
    upAt(on, 611);
    assert.deepEqual(news(on), [LOST]);
  }
});

for (const pid of [17, 18]) {
  test(`a task redelivered to a late successor is not lost, ${pid === 17 ? 'with the same pid' : 'with another'}`, () => {
    const on = watch();
    report(on, [...running('u1', 0), ...heartbeats(2, 20, 1, { clock: 90 })]);
    report(on, [[60, signal('worker-online', { pid, clock: 2 })]]);
    upAt(on, 60.9);
    report(on, [
      [61, received({ ...of('u1'), pid, clock: 3 })],
      [61, started({ ...of('u1'), pid, clock: 4 })],
      ...heartbeats(62, 80, 1, { pid, clock: 9 }),
    ]);
    upAt(on, 81);
    assert.deepEqual(news(on), [pid === 17 ? RESTARTED : REPLACED]);
  });
}

for (const first of [98, 100, 104, 111, 113]) {
  test(`a restarted process whose count soon passes that of the dead one keeps it (98, then ${first})`, () => {
    const on = watch();
    let clock = 1;
    const life = (fromS: number, tasks: number): Story =>
      Array.from({ length: tasks }, (_, task) => {
        const [atS, uuid] = [fromS + task * 0.01, `u${clock}`];
        return [
          [atS, started({ ...of(uuid), clock: clock++ })] as const,
          [atS, succeeded({ ...of(uuid), clock: clock++ })] as const,
        ];
      }).flat();
    report(on, [[0, signal('worker-online', { clock: clock++ })], ...life(1, 97)]);
    report(on, running('u', 50, { clock: 300 }));
    report(on, heartbeats(52, 60, 1, { processed: 98, clock: 400 }));
    report(on, [[65, signal('worker-online', { clock: 1 })]]);
    // Other workers raise the clock of a new one.
    clock = 5_000;
    report(on, life(65.2, first));
    for (let tasks = first; tasks < first + 30; tasks += 1) {
      const atS = 67 + 2 * (tasks - first);
      report(on, [[atS, heartbeat(0, { processed: tasks, clock: clock++ })], ...life(atS + 1, 1)]);
      upAt(on, atS + 1.5);
    }
    upAt(on, 135);
    assert.deepEqual(news(on), [LOST, RESTARTED]);
    assert.deepEqual(progress(on), { processed: 98 + first + 29, lost: 0 });
  });
}

test('an idle worker that was disconnected sends its old worker-offline late, and has not exited', () => {
  const on = watch();
  report(on, [[0, signal('worker-online')], ...heartbeats(2, 98, 0, { processed: 0 })]);
  upAt(on, 99);
  for (const [type, atS] of [
    ['worker-offline', 100],
    ['worker-online', 109],
  ] as const) {
    on.cluster.apply(signal(type, { clock: 100 + atS, timestampMs: T0_MS + atS * 1_000 }), T0_MS + 109_000);
  }
  report(on, heartbeats(111, 140, 0, { processed: 0, clock: 300 }));
  assert.deepEqual(upAt(on, 141), [[WORKER, true]]);
  assert.deepEqual(news(on), []);
});

for (const idleS of [0, 3600]) {
  test(`a container that its first task kills at once, after ${idleS} s, has restarted, though its neighbours have set its logical clock`, () => {
    const on = watch();
    report(on, [
      [0, signal('worker-online', { clock: 1 })],
      ...heartbeats(2, idleS, 0, { processed: 0, clock: 50 }),
      [idleS + 1, received({ uuid: 'u1', clock: 66 })],
      [idleS + 1, started({ uuid: 'u1', clock: 67 })],
      [idleS + 6, signal('worker-online', { clock: 70 })],
      ...heartbeats(idleS + 8, idleS + 60, 0, { processed: 0, clock: 75 }),
    ]);
    on.cluster.collect(T0_MS + (idleS + 61) * 1000);
    assert.deepEqual(news(on).toSorted(), ['exited w1@shop restarted', 'lost shop.pay unknown w1@shop']);
  });
}

test('a worker-online of a reconnect that a start has overtaken is no restart', () => {
  const on = watch();
  report(on, [
    [0, signal('worker-online', { clock: 1 })],
    ...heartbeats(2, 30, 0, { processed: 0, clock: 50 }),
    [31, received({ uuid: 'u1', clock: 71 })],
    [31, started({ uuid: 'u1', clock: 72 })],
    [31.2, signal('worker-online', { clock: 70 })],
    ...heartbeats(33, 90, 1, { processed: 1, clock: 75 }),
  ]);
  on.cluster.collect(T0_MS + 91_000);
  assert.deepEqual(news(on), []);
});
