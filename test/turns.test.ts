import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createPace, createTurns, inTurns } from '../src/turns.ts';

/** In which turns of the event loop those went on who waited, each of whom works for so many ms then. */
async function goneOn(t: TestContext, worksMs: Readonly<Record<string, number>>) {
  const { state } = mocked(t);
  const turn = createTurns();
  let went = '';
  for (const [name, workMs] of Object.entries(worksMs)) {
    void turn()
      .then(() => {})
      .then(() => {
        went += name;
        state.nowMs += workMs;
        // Whoever waits again is behind all others, and not in this turn.
        void turn().then(() => {
          went += name.toUpperCase();
        });
      });
  }
  const turns: string[] = [];
  while (went.length < 2 * Object.keys(worksMs).length) {
    const before = went;
    await nextTurn();
    if (went !== before) turns.push(went.slice(before.length));
  }
  return turns;
}

test('of several who wait for their turn so many go on in each turn of the event loop as it has time for, in their order', async (t) => {
  assert.deepEqual(await goneOn(t, { a: 10, b: 10, c: 10 }), ['a', 'b', 'c', 'ABC']);
});

test('who does little in its turn leaves the rest of it to the next', async (t) => {
  assert.deepEqual(await goneOn(t, { a: 1, b: 1, c: 1, d: 1 }), ['abc', 'dABC', 'D']);
});

test('others have their turn between two of those who work', async () => {
  const turn = createTurns();
  const seen: string[] = [];
  async function work(): Promise<void> {
    for (let step = 0; step < 3; step += 1) {
      await turn();
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

test('work goes on without a break for six milliseconds, then waits for its turn, and has as much time again', async (t) => {
  const { state, turn } = mocked(t);
  const pace = createPace(turn);
  state.nowMs += 5;
  assert.equal(pace(), undefined);
  state.nowMs += 1;
  await pace();
  assert.equal(state.turns, 1);
  state.nowMs += 5;
  assert.equal(pace(), undefined);
  state.nowMs += 1;
  assert.notEqual(pace(), undefined);
});

test('work in steps comes to its result, with a turn for others whenever it took long enough', async (t) => {
  const { state, turn } = mocked(t);
  function* steps(): Generator<undefined, string> {
    for (let step = 0; step < 10; step += 1) {
      state.nowMs += 3;
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
