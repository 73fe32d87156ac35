/** Missed events: a task that ran before a gap may have ended in it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { watch } from './events.ts';
import { heartbeat, heartbeats, news, running, tell, upAt } from './stories.ts';

const LOST = 'lost shop.pay orders w1@shop';

for (const pid of [17, 18]) {
  test(`a task that ended in a gap is not lost if its worker was replaced then, ${pid === 17 ? 'with the same pid' : 'with another'}`, () => {
    const on = watch();
    tell(on, [...running('u1', 0), ...heartbeats(2, 8, 1, { processed: 13, clock: 90 })]);
    on.cluster.gap();
    tell(on, heartbeats(20, 60, 0, { pid, processed: 0, clock: 20 }));
    upAt(on, 61);
    assert.deepEqual(news(on), [pid === 17 ? 'exited w1@shop restarted' : 'exited w1@shop replaced']);
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
