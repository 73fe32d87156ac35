import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createPace, createTurns, inTurns } from '../src/turns.ts';

test('of several who wait for their turn one goes on in each turn of the event loop, in their order', async () => {
  const turn = createTurns();
  const went: string[] = [];
  for (const name of ['a', 'b', 'c']) void turn().then(() => went.push(name));
  const seen: string[] = [];
  while (went.length < 3) {
    await nextTurn();
    seen.push(went.join(''));
  }
  assert.deepEqual([...new Set(seen.filter((each) => each !== ''))], ['a', 'ab', 'abc']);
});

/** A clock that stands still unless it is moved, and turns that are counted. */
function mocked(t: TestContext) {
  const state = { nowMs: 1_000, turns: 0 };
  t.mock.method(performance, 'now', () => state.nowMs);
  return {
    state,
    turn: async () => {
      state.turns += 1;
    },
  };
}

test('work goes on without a break for ten milliseconds, then waits for its turn, and has as much time again', async (t) => {
  const { state, turn } = mocked(t);
  const pace = createPace(turn);
  state.nowMs += 9;
  assert.equal(pace(), undefined);
  state.nowMs += 1;
  await pace();
  assert.equal(state.turns, 1);
  state.nowMs += 9;
  assert.equal(pace(), undefined);
  state.nowMs += 1;
  assert.notEqual(pace(), undefined);
});

test('work in steps comes to its result, with a turn for others whenever it took long enough', async (t) => {
  const { state, turn } = mocked(t);
  function* steps(): Generator<undefined, string> {
    for (let step = 0; step < 10; step += 1) {
      state.nowMs += 5;
      yield;
    }
    return 'done';
  }
  assert.equal(await inTurns(turn, steps()), 'done');
  assert.equal(state.turns, 5);
});

test('work that fails says so', async () => {
  await assert.rejects(inTurns(createTurns(), failing()), /broken/u);
});

function* failing(): Generator<undefined, never> {
  yield;
  throw new Error('broken');
}
