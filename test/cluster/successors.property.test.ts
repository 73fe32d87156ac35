/**
 * Any sequence of processes under one name: each exits once, its running tasks are lost once, and nothing else is,
 * whatever the order of arrival within the window and the times of collections.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { fc } from '../seed.ts';
import { findOut, type RandomStory, randomStory, type Variation } from './random-stories.ts';

/** Nothing is missed, delivered again or held up, and no clock is set: then there is no doubt. */
const CLEAR = { greetingMissed: false, takesOver: false };
const clear = randomStory('none').map((story) => ({
  ...story,
  ...{ clockSets: [], holdUp: undefined },
  lives: story.lives.map((life) => ({ ...life, ...CLEAR })),
}));

/** A young process, and one with its pid whose first task overtakes its `worker-online`, until its clock is higher. */
const OVERTAKEN: RandomStory = {
  lives: [
    { ...CLEAR, mingles: false, pauseMs: 1_100, beats: 1, hasSamePid: false, saysGoodbye: true, tasks: [] },
    {
      ...{ ...CLEAR, mingles: false, pauseMs: 1_100, beats: 1, hasSamePid: true, saysGoodbye: false },
      tasks: [{ atMs: 200, lengthMs: 1 }],
    },
  ],
  ...{ clockSets: [], holdUp: undefined, gap: undefined, drop: undefined },
  delaysMs: Array.from({ length: 40 }, (_, index) => (index === 6 ? 330 : 0)),
  collectEveryMs: 1_000,
};

test('each process exits once, and the tasks of a killed one are lost once, in whatever order events arrive', () => {
  fc.assert(
    fc.property(clear, (story) => {
      const { found, truth } = findOut(story);
      assert.deepEqual(found, truth);
    }),
    { numRuns: 1_000, examples: [[OVERTAKEN]] },
  );
});

const drawn = fc.sample(randomStory('none'), { numRuns: 8_000 });
const STORIES = [false, true].map((isHeldUp) =>
  drawn.filter(({ holdUp }) => (holdUp !== undefined) === isHeldUp).slice(0, 1_000),
);

/** How many random stories are not told as they were. */
function disagreements(isHeldUp: boolean, variation?: Variation): number {
  const stories = STORIES[isHeldUp ? 1 : 0] ?? [];
  assert.equal(stories.length, 1_000);
  return stories.filter((story) => {
    const { found, truth } = findOut(story, variation);
    return !isDeepStrictEqual(found, truth);
  }).length;
}

/**
 * How many of a thousand stories may be wrong, and how many if all events of a minute arrive at once as well: above the
 * most of any of twenty-four seeds.
 */
const VARIATIONS: Readonly<Record<string, readonly [Variation, inTime: number, heldUp: number]>> = {
  'at any moment': [{}, 8, 18],
  'at any moment, and it is ours': [{ setsOurs: true }, 7, 17],
  'at restarts': [{ setsAtRestarts: true }, 11, 29],
  'at any moment, with other pids and the pool solo': [{ isSolo: true }, 3, 6],
  'at any moment, and it is ours, with other pids and the pool solo': [
    { isSolo: true, setsOurs: true },
    6,
    5,
  ],
  'at restarts, with other pids and the pool solo': [{ isSolo: true, setsAtRestarts: true }, 2, 7],
};
for (const [when, [variation, ...bounds]] of Object.entries(VARIATIONS)) {
  test(`restarts are found if the clock is set ${when}, with tasks redelivered and worker-online events missing`, () => {
    for (const [index, bound] of bounds.entries()) {
      const count = disagreements(index === 1, variation);
      assert.ok(count <= bound, `${count} stories of at most ${bound}`);
    }
  });
}

/** What was found, and what is true, in stories of which something was missed. */
const MISSED = fc.sample(randomStory('gap'), { numRuns: 1_000 }).map((story) => findOut(story));

test('nothing that was missed makes a true loss be taken back', () => {
  for (const { found, truth } of MISSED) {
    // A task that is delivered again may be lost again.
    const falsely = found.lost.filter(
      (task, at) => !truth.lost.includes(task) || found.lost.indexOf(task) < at,
    );
    assert.ok(
      found.refuted <= falsely.length,
      `${found.refuted} refuted of ${found.lost}, true: ${truth.lost}`,
    );
  }
});

test('no more than one in fifty stories with missed events has a false loss', () => {
  const stories = MISSED.filter(({ found, truth }) => found.lost.some((task) => !truth.lost.includes(task)));
  assert.ok(stories.length <= 20, `${stories.length} stories`);
});

test('whatever the broker drops while the connection goes on, each end that arrives is counted, and refutes a loss', () => {
  let wrong = 0;
  for (const drawn of fc.sample(randomStory('drop'), { numRuns: 1_000 })) {
    const story = { ...drawn, clockSets: [], holdUp: undefined };
    const { found, ended, unrefuted } = findOut(story, { isSolo: true });
    assert.equal(found.succeeded, ended.length);
    if (unrefuted.length > 0) wrong += 1;
  }
  assert.ok(wrong <= 4, `${wrong} stories of at most 4`);
});
