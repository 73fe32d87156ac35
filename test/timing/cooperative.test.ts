import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createPace, createYieldToLoop, runCooperatively } from '../../src/timing/cooperative.ts';

/** Which waiters resume in which turn of the event loop, if each then works for so many ms and waits once more. */
async function resumed(t: TestContext, worksMs: Readonly<Record<string, number>>) {
  const { state } = mocked(t);
  const yieldToLoop = createYieldToLoop();
  let order = '';
  for (const [name, workMs] of Object.entries(worksMs)) {
    void yieldToLoop()
      .then(() => {})
      .then(() => {
        order += name;
        state.nowMs += workMs;
        // One that waits again is last in the queue, and not resumed in this turn.
        void yieldToLoop().then(() => {
          order += name.toUpperCase();
        });
      });
  }
  const turns: string[] = [];
  while (order.length < 2 * Object.keys(worksMs).length) {
    const before = order;
    await nextTurn();
    if (order !== before) turns.push(order.slice(before.length));
  }
  return turns;
}

test('waiters resume first come, first served, as many in each turn of the event loop as it has time for', async (t) => {
  assert.deepEqual(await resumed(t, { a: 10, b: 10, c: 10 }), ['a', 'b', 'c', 'ABC']);
});

test('a waiter that does little leaves the rest of the turn to the next', async (t) => {
  assert.deepEqual(await resumed(t, { a: 1, b: 1, c: 1, d: 1 }), ['abc', 'dABC', 'D']);
});

test('other work runs between two steps of long work', async () => {
  const yieldToLoop = createYieldToLoop();
  const seen: string[] = [];
  async function work(): Promise<void> {
    for (let step = 0; step < 3; step += 1) {
      await yieldToLoop();
      seen.push('work');
    }
  }
  async function others(): Promise<void> {
    while (seen.filter((each) => each === 'work').length < 3) {
      await nextTurn();
      seen.push('others');
    }
  }
  await Promise.all([work(), others()]);
  assert.doesNotMatch(seen.join(' '), /work work/u);
});

/** A clock that only moves when told to, and a count of yields. */
function mocked(t: TestContext) {
  const state = { nowMs: 1_000, yields: 0 };
  t.mock.method(performance, 'now', () => state.nowMs);
  return {
    state,
    yieldToLoop: async () => {
      state.yields += 1;
    },
  };
}

test('work runs for six milliseconds, yields, and then has as much time again', async (t) => {
  const { state, yieldToLoop } = mocked(t);
  const pace = createPace(yieldToLoop);
  state.nowMs += 5;
  assert.equal(pace(), undefined);
  state.nowMs += 1;
  await pace();
  assert.equal(state.yields, 1);
  state.nowMs += 5;
  assert.equal(pace(), undefined);
  state.nowMs += 1;
  assert.notEqual(pace(), undefined);
});

test('work in steps returns its result and yields whenever its time is up', async (t) => {
  const { state, yieldToLoop } = mocked(t);
  function* steps(): Generator<undefined, string> {
    for (let step = 0; step < 10; step += 1) {
      state.nowMs += 3;
      yield;
    }
    return 'done';
  }
  assert.equal(await runCooperatively(yieldToLoop, steps()), 'done');
  assert.equal(state.yields, 5);
});

test('an error in a step rejects', async () => {
  await assert.rejects(runCooperatively(createYieldToLoop(), failing()), /broken/u);
});

function* failing(): Generator<undefined, never> {
  yield;
  throw new Error('broken');
}
