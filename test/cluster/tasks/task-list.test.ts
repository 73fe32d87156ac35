/** Several concurrent walks over a list that changes meanwhile. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Steps } from '../../../src/cluster/steps.ts';
import { Task } from '../../../src/cluster/tasks/task.ts';
import { TaskList } from '../../../src/cluster/tasks/task-list.ts';
import { fc } from '../../seed.ts';

const TASKS = 6;

interface Walk {
  readonly steps: Steps;
  readonly visited: number[];
  /** The tasks that it has not visited yet, in order. */
  expected: number[];
}

function begin(list: TaskList, places: readonly number[]): Walk {
  const visited: number[] = [];
  const walk: Walk = {
    steps: list.walk(1, ({ place }) => visited.push(place)),
    visited,
    expected: [...places],
  };
  goOn(walk);
  return walk;
}

/** One step, which visits one of them. */
function goOn(walk: Walk): void {
  const before = walk.visited.length;
  walk.steps.next();
  assert.deepEqual(walk.visited.slice(before), walk.expected.splice(0, 1));
}

const turn = fc.record({
  what: fc.constantFrom('walk', 'step', 'step', 'step', 'leave', 'toggle', 'toggle', 'prepend', 'again'),
  which: fc.nat(TASKS - 1),
});

test('each walk visits once, in order, the tasks that were there at its start and still are', () => {
  fc.assert(
    fc.property(fc.array(turn, { maxLength: 60, size: 'max' }), (turns) => {
      const list = new TaskList();
      const tasks = Array.from({ length: TASKS }, (_, place) => new Task(place));
      let places: number[] = [];
      const walks: Walk[] = [];
      const remove = (task: Task): void => {
        list.remove(task);
        places = places.filter((place) => place !== task.place);
        for (const walk of walks) walk.expected = walk.expected.filter((place) => place !== task.place);
      };
      const append = (task: Task): void => {
        list.append(task);
        places.push(task.place);
      };
      for (const { what, which } of turns) {
        const task = tasks[which] ?? new Task(-1);
        const walk = walks[which % Math.max(walks.length, 1)];
        const isIn = places.includes(which);
        if (what === 'walk') walks.push(begin(list, places));
        else if (what === 'step' && walk !== undefined) goOn(walk);
        else if (what === 'leave' && walk !== undefined) {
          walk.steps.return();
          walks.splice(walks.indexOf(walk), 1);
        } else if (what === 'toggle' && isIn) remove(task);
        else if (what === 'toggle') append(task);
        else if (what === 'prepend' && !isIn) {
          list.prepend(task);
          places.unshift(which);
        } else if (what === 'again' && isIn) {
          remove(task);
          append(task);
        }
      }
      for (const walk of walks) while (walk.expected.length > 0) goOn(walk);
    }),
    { numRuns: 3_000 },
  );
});
