/** Workers that come and go around the bound, in any order: whatever is said of them is true. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fc } from '../seed.ts';
import { watchCluster } from './watched-cluster.ts';

const NAMES = ['w1@shop', 'w2@shop', 'w3@shop', '44', `w5@${'x'.repeat(250)}`, 'gen6@shop'] as const;
const steps = fc.array(
  fc.record({
    act: fc.constantFrom('beat', 'beat', 'leave', 'stats', 'active_queues', 'active'),
    name: fc.constantFrom(...NAMES),
    replies: fc.subarray([...NAMES]),
  }),
  { maxLength: 40 },
);
/** All of them in less time than makes a worker silent. */
const STEP_MS = 500;

test('nobody is said to be absent, unseen or overlooked who is not', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 }), steps, (workersMax, story) => {
      const on = watchCluster(workersMax);
      const [present, shown] = [new Set<string>(), new Set<string>()];
      let reached: readonly string[] = [];
      for (const [index, { act, name, replies }] of story.entries()) {
        const ms = index * STEP_MS;
        if (act === 'beat') {
          on.signal(present.has(name) ? 'heartbeat' : 'online', name, ms);
          for (const names of [present, shown]) names.add(name);
        } else if (act === 'leave') {
          if (present.delete(name)) on.signal('offline', name, ms);
        } else {
          reached = [...present];
          on.ask(
            ms,
            act,
            replies.filter((each) => present.has(each)),
            reached.length + 1,
          );
        }
      }
      const workers = [...present].filter((name) => name !== 'gen6@shop').length;
      const lines = on.lines(story.length * STEP_MS);
      const count = (pattern: RegExp): number =>
        Number(lines.map((line) => pattern.exec(line)?.[1]).find((found) => found !== undefined) ?? 0);
      const [up, overlooked] = [count(/^(\d+) workers?:/u), count(/^not checked.*: (\d+) workers?$/u)];
      assert.ok(workers === 0 || !lines.some((line) => /^no worker/u.test(line)), 'absent');
      // Whoever has just left may count as up.
      assert.ok(up <= workersMax && overlooked <= workers && up + overlooked >= workers, 'overlooked');
      const strangers = reached.filter((name) => !shown.has(name) || name === 'gen6@shop').length + 1;
      assert.ok(count(/^(\d+) more workers? received/u) <= strangers, 'unseen');
    }),
    { numRuns: 1000 },
  );
});
