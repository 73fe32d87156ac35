/** One short round of each benchmark: it ends, and has measured what it is for. How fast that was does not matter here. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runChild } from '../contract/child.ts';
import { TEST_LIMIT_MS } from '../deadline.ts';

const ROUND = ['--rounds', '1', '--tasks', '50'];

for (const [script, args, lines] of [
  [
    'throughput.ts',
    [...ROUND, '--interval', '200'],
    [/^RabbitMQ, lists/mu, /^Redis, lists.*\n.* ratio \d/mu],
  ],
  ['pure-rooms.ts', ['--tasks', '20000'], [/^20000 tasks: \d/mu, /^bytes for a task that is over: -?\d/mu]],
  ['tracing-cost.ts', [...ROUND, '--warm-up', '0'], [/^1 % of the traces: \d/mu]],
] as const) {
  test(`a short round of ${script}`, async () => {
    const path = fileURLToPath(new URL(script, import.meta.url));
    const options = { cwd: import.meta.dirname, env: process.env, timeoutMs: TEST_LIMIT_MS };
    const { stdout, stderr } = await runChild(process.execPath, [path, ...args], options);
    assert.equal(stderr, '');
    for (const line of lines) assert.match(stdout, line);
  });
}
