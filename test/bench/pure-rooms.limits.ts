import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const BENCH = fileURLToPath(new URL('./pure-rooms.ts', import.meta.url));
const TIMEOUT_MS = 240_000;

/** The script exits with 1 if a bound is exceeded, which rejects with its table as the message. */
async function bench(only: 'cost' | 'memory'): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [BENCH, '--only', only], {
    timeout: TIMEOUT_MS,
  }).catch((error: unknown) => {
    const stdout = error instanceof Error && 'stdout' in error ? String(error.stdout) : '';
    throw new Error(stdout, { cause: error });
  });
  return stdout;
}

test('over a million tasks on a thousand changing workers, the heap stays flat and the cost of an event constant', {
  timeout: TIMEOUT_MS,
}, async () => {
  assert.match(await bench('cost'), /^1000000 tasks/mu);
});

test('of a hundred thousand tasks, each takes less than 400 bytes in any state', async () => {
  assert.match(await bench('memory'), /^bytes for a task that runs/mu);
});
