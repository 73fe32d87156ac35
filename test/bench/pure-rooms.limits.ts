/** What the pure rooms cost per event and task, each half in a process of its own. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runChild } from '../contract/child.ts';
import { boundAsPrinted } from './printed-bounds.ts';

const BENCH = fileURLToPath(new URL('./pure-rooms.ts', import.meta.url));
const TIMEOUT_MS = 240_000;

/** The script exits with 1 if a bound is exceeded. */
async function bench(only: 'cost' | 'memory') {
  const options = { cwd: import.meta.dirname, env: {}, timeoutMs: TIMEOUT_MS };
  return runChild(process.execPath, [BENCH, '--only', only], options);
}

test('over a million tasks on a thousand changing workers, the heap stays flat and the cost of an event constant', {
  timeout: TIMEOUT_MS,
}, async (t) => {
  const { code, stdout, stderr } = await bench('cost');
  boundAsPrinted(t, stdout);
  assert.equal(code, 0, `${stdout}${stderr}`);
  assert.match(stdout, /^1000000 tasks/mu);
});

test('of a hundred thousand tasks, each takes less than 400 bytes in any state', async (t) => {
  const { code, stdout, stderr } = await bench('memory');
  boundAsPrinted(t, stdout);
  assert.equal(code, 0, `${stdout}${stderr}`);
  assert.match(stdout, /^bytes for a task that runs/mu);
});
