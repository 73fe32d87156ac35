/** Missed events: a task that was running before them may have ended meanwhile. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { line, signal, succeeded, type Watched, watch } from './events.ts';
import { heartbeat, heartbeats, news, of, running, tell, upAt } from './stories.ts';

const LOST = 'lost shop.pay orders w1@shop';
const LOST_NEW = 'lost new orders w1@shop';
const [REPLACED, RESTARTED] = ['exited w1@shop replaced', 'exited w1@shop restarted'];

for (const pid of [17, 18]) {
  test(`a task that ended in a gap is not lost if its worker was replaced then, ${pid === 17 ? 'with the same pid' : 'with another'}`, () => {
    const on = watch();
    tell(on, [...running('u1', 0), ...heartbeats(2, 8, 1, { processed: 13, clock: 90 })]);
    on.cluster.gap();
    tell(on, heartbeats(20, 60, 0, { pid, processed: 0, clock: 20 }));
    upAt(on, 61);
    assert.deepEqual(news(on), [pid === 17 ? RESTARTED : REPLACED]);
  });
}

test('after a gap, a dead worker loses only tasks started since, until it reports how many it runs', () => {
  for (const hasBeaten of [false, true]) {
    const on = watch();
    tell(on, [...running('u1', 0), ...running('u2', 0), ...heartbeats(2, 8, 2)]);
    on.cluster.gap();
    tell(on, running('u3', 20));
    if (hasBeaten) tell(on, [[21, heartbeat(3, { processed: 3 })]]);
    tell(on, heartbeats(25, 61, 0, { pid: 18, processed: 0 }));
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
      tell(on, [...running('u1', 0), ...running('u2', 0), ...heartbeats(2, 8, 2, { processed: 2 })]);
      if (hasGap) on.cluster.gap();
      if (startsNew) tell(on, running('u3', 20, { name: 'new' }));
      tell(on, heartbeats(21, 31, active, { processed }));
      if (active > 1) assert.equal(runningAgeS(on, 32), 32, 'until its worker is gone it counts as running');
      tell(on, heartbeats(35, 61, 0, { pid: 18, processed: 0 }));
      upAt(on, 62);
      const what = `${active} active of ${processed}`;
      assert.deepEqual(news(on), [...lost, REPLACED], what);
      tell(on, [[63, succeeded(of('u1'))]]);
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
    tell(on, [...running('u1', 0), ...heartbeats(2, 8, 1)]);
    on.cluster.gap();
    tell(on, [
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
    tell(on, [...running('u1', 0), ...heartbeats(2, 8, 1, { processed: 10, clock: 90 })]);
    if (saysGoodbye) tell(on, [[9, signal('worker-offline', { active: 0, processed: 10, clock: 91 })]]);
    on.cluster.gap();
    // Its logical clock goes on where those of other workers are.
    tell(on, [...running('u2', 20, { clock: 95 }), ...heartbeats(21, 61, 1, { clock: 100 })]);
    upAt(on, 62);
    tell(on, [[63, succeeded({ ...of('u2'), clock: 110 })]]);
    upAt(on, 65);
    assert.deepEqual(news(on), [saysGoodbye ? 'exited w1@shop goodbye' : RESTARTED]);
  }
});
