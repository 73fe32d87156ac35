/** Missed events: a task that was running before them may have ended meanwhile. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { line, received, revoked, signal, succeeded, type Watched, watch } from './events.ts';
import { heartbeat, heartbeats, news, of, report, running, type Story, upAt } from './stories.ts';

const LOST = 'lost shop.pay orders w1@shop';
const LOST_NEW = 'lost new orders w1@shop';
const [REPLACED, RESTARTED] = ['exited w1@shop replaced', 'exited w1@shop restarted'];

for (const pid of [17, 18]) {
  test(`a task that ended in a gap is not lost if its worker was replaced then, ${pid === 17 ? 'with the same pid' : 'with another'}`, () => {
    const on = watch();
    report(on, [...running('u1', 0), ...heartbeats(2, 8, 1, { processed: 13, clock: 90 })]);
    on.cluster.gap();
    report(on, heartbeats(20, 60, 0, { pid, processed: 0, clock: 20 }));
    upAt(on, 61);
    assert.deepEqual(news(on), [pid === 17 ? RESTARTED : REPLACED]);
  });
}

test('after a gap, a dead worker loses only tasks started since, until it reports how many it runs', () => {
  for (const hasBeaten of [false, true]) {
    const on = watch();
    report(on, [...running('u1', 0), ...running('u2', 0), ...heartbeats(2, 8, 2)]);
    on.cluster.gap();
    report(on, running('u3', 20));
    if (hasBeaten) report(on, [[21, heartbeat(3, { processed: 3 })]]);
    report(on, heartbeats(25, 61, 0, { pid: 18, processed: 0 }));
    upAt(on, 62);
    assert.equal(news(on).filter((each) => each === LOST).length, hasBeaten ? 3 : 1);
  }
});

function runningAgeS({ cluster }: Watched, atS: number): number | undefined {
  const [orders] = cluster.collect(1_795_260_275_000 + atS * 1_000).queues;
  return orders?.runningAgeS;
}

for (const hasGap of [true, false]) {
  const when = hasGap ? 'in a gap' : 'without a gap';
  test(`as many tasks may be over as starts were missed ${when}, unless the worker reports more active ones`, () => {
    for (const { active, processed, startsNew = false, lost } of [
      { active: 2, processed: 4, lost: [] },
      { active: 2, processed: 40, lost: [] },
      { active: 2, processed: 3, lost: [LOST] },
      { active: 3, processed: 4, lost: [LOST] },
      { active: 4, processed: 4, lost: [LOST, LOST] },
      { active: 2, processed: 2, lost: [LOST, LOST] },
      { active: 3, processed: 5, startsNew: true, lost: [LOST_NEW] },
      // In a gap nothing was missed that happened after it.
      { active: 1, processed: 5, startsNew: true, lost: hasGap ? [LOST_NEW] : [] },
    ]) {
      const on = watch();
      report(on, [...running('u1', 0), ...running('u2', 0), ...heartbeats(2, 8, 2, { processed: 2 })]);
      if (hasGap) on.cluster.gap();
      if (startsNew) report(on, running('u3', 20, { name: 'new' }));
      report(on, heartbeats(21, 31, active, { processed }));
      if (active > 1) assert.equal(runningAgeS(on, 32), 32, 'until its worker is gone it counts as running');
      report(on, heartbeats(35, 61, 0, { pid: 18, processed: 0 }));
      upAt(on, 62);
      const what = `${active} active of ${processed}`;
      assert.deepEqual(news(on), [...lost, REPLACED], what);
      report(on, [[63, succeeded(of('u1'))]]);
      upAt(on, 65);
      const ended = 'succeeded shop.pay orders w1@shop 0.25s';
      const refuted = lost.length === 2 ? ['loss-refuted shop.pay orders w1@shop'] : [];
      assert.deepEqual(on.news().map(line), [...refuted, ended], what);
    }
  });
}

test('what has ended since a goodbye was among its active tasks, and the others may be those whose starts were missed', () => {
  for (const { missed, lost } of [
    { missed: 1, lost: [] },
    { missed: 0, lost: [LOST] },
  ]) {
    const on = watch();
    report(on, [...running('u1', 0), ...heartbeats(2, 8, 1)]);
    on.cluster.gap();
    report(on, [
      ...running('u2', 20, { clock: 20 }),
      ...heartbeats(22, 28, 2, { processed: 2 + missed, clock: 21 }),
      [29, signal('worker-offline', { active: 2, processed: 2 + missed, clock: 22 })],
      [29.05, succeeded({ ...of('u2'), clock: 23 })],
    ]);
    for (const atS of [35, 635]) upAt(on, atS);
    assert.deepEqual(news(on), ['exited w1@shop goodbye', ...lost], `${missed} missed`);
  }
});

test('a task that begins after a gap is not lost with a process that was restarted in it', () => {
  for (const saysGoodbye of [false, true]) {
    const on = watch();
    report(on, [...running('u1', 0), ...heartbeats(2, 8, 1, { processed: 10, clock: 90 })]);
    if (saysGoodbye) report(on, [[9, signal('worker-offline', { active: 0, processed: 10, clock: 91 })]]);
    on.cluster.gap();
    // Its logical clock goes on where those of other workers are.
    report(on, [...running('u2', 20, { clock: 95 }), ...heartbeats(21, 61, 1, { clock: 100 })]);
    upAt(on, 62);
    report(on, [[63, succeeded({ ...of('u2'), clock: 110 })]]);
    upAt(on, 65);
    assert.deepEqual(news(on), [saysGoodbye ? 'exited w1@shop goodbye' : RESTARTED]);
  }
});

/** Between two heartbeats a task starts without a word, so that one more is active, and its end is told so long after. */
const unseen = (uuid: string, atS: number, processed: number, active: number, endsAfterS: number): Story => [
  [atS, received({ ...of(uuid), clock: 10 * atS })],
  [atS + endsAfterS, succeeded({ ...of(uuid), clock: 10 * (atS + endsAfterS) })],
  [atS + 2, heartbeat(active + (endsAfterS > 2 ? 1 : 0), { processed, clock: 10 * (atS + 2) })],
  [atS + 4, heartbeat(active, { processed, clock: 10 * (atS + 4) })],
];

test('a missed start saves no other task from being lost once its own end is told', () => {
  for (const [what, endsAfterS] of [
    ['between heartbeats', 3],
    ['before the first heartbeat', 1],
    ['just before a heartbeat', 1.95],
  ] as const) {
    for (const hasGap of [true, false]) {
      const on = watch();
      report(on, [
        ...running('u1', 0),
        ...running('u2', 0),
        ...heartbeats(2, 8, 2, { processed: 2, clock: 80 }),
      ]);
      if (hasGap) on.cluster.gap();
      for (let times = 1; times <= 3; times += 1) {
        const story = unseen(`short${times}`, 10 * times, 2 + times, 2, endsAfterS);
        report(
          on,
          [...story].sort(([one], [other]) => one - other),
        );
      }
      // Others come and go, so that there is always one more.
      for (let atS = 40; atS < 50; atS += 2)
        report(on, [
          ...running(`seen${atS}`, atS, { clock: 10 * atS }),
          [atS + 1, heartbeat(3, { processed: atS / 2 - 14, clock: 10 * atS + 10 })],
          [atS + 1.5, succeeded({ ...of(`seen${atS}`), clock: 10 * atS + 15 })],
        ]);
      report(on, heartbeats(55, 81, 0, { pid: 18, processed: 0 }));
      upAt(on, 82);
      assert.deepEqual(
        news(on),
        [LOST, LOST, REPLACED],
        `${what}, ${hasGap ? 'after a gap' : 'without a gap'}`,
      );
    }
  }
});

test('a missed start saves another task until its own end is told', () => {
  const on = watch();
  report(on, [...running('u1', 0), ...heartbeats(2, 8, 1, { processed: 1, clock: 8 })]);
  on.cluster.gap();
  report(on, heartbeats(20, 30, 1, { processed: 2, clock: 20 }));
  // Revoked before it started.
  report(on, [
    [31, received({ ...of('u2'), clock: 21 })],
    [31.1, revoked({ ...of('u2'), clock: 22 })],
  ]);
  report(on, heartbeats(33, 39, 1, { processed: 2, clock: 30 }));
  report(on, heartbeats(45, 71, 0, { pid: 18, processed: 0 }));
  upAt(on, 72);
  assert.deepEqual(news(on), [REPLACED]);
});

test('if one of two tasks ended in a gap and the other after a goodbye, none is lost', () => {
  const on = watch();
  report(on, [
    ...running('long', 0),
    ...running('short', 1),
    ...heartbeats(2, 8, 2, { processed: 2, clock: 8 }),
  ]);
  upAt(on, 9);
  on.cluster.gap();
  report(on, heartbeats(30, 40, 1, { processed: 2, clock: 40 }));
  upAt(on, 40.5);
  report(on, [
    [41, signal('worker-offline', { active: 1, processed: 2, clock: 41 })],
    [100, succeeded({ ...of('long'), clock: 42 })],
  ]);
  for (const atS of [101, 110, 800]) upAt(on, atS);
  assert.deepEqual(news(on), ['exited w1@shop goodbye']);
});

test('a task that is delivered again does not take the place of one that ended in a gap', () => {
  const on = watch();
  report(on, [
    ...running('again', 0),
    ...running('short', 1),
    ...heartbeats(2, 8, 2, { processed: 2, clock: 8 }),
  ]);
  on.cluster.gap();
  report(on, heartbeats(30, 40, 2, { processed: 3, clock: 40 }));
  report(on, [...running('again', 45, { pid: 18 }), ...heartbeats(46, 70, 1, { pid: 18, processed: 1 })]);
  upAt(on, 71);
  assert.deepEqual(news(on), [REPLACED]);
});
