/** The memory of tasks, usual ones and the heaviest possible; each kind in its own process. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { bound } from '../bound.ts';

const FILL = fileURLToPath(new URL('./heap-of-tasks.ts', import.meta.url));
const MB = 1e6;
/** For 100,000 tasks. */
const BUDGET_BYTES = 105 * MB;
/** Beyond it: what a hundred events may bring before room is made again. */
const OVERSHOOT_BYTES = 0.4 * MB;
/** Names, identities and workers, which have bounds of their own. */
const BESIDE_BYTES = 20 * MB;

interface Filled {
  readonly taken: number;
  readonly size: number;
  readonly bytes: number;
  readonly bytesMax: number;
  readonly evicted: number;
}

async function fill(kind: string): Promise<Filled> {
  const { stdout } = await promisify(execFile)(process.execPath, [FILL, kind]);
  return JSON.parse(stdout);
}

for (const kind of ['that are sent', 'that run', 'that are over']) {
  test(`100,000 usual tasks ${kind} all fit and take less than estimated`, async (t) => {
    const { taken, size, bytes, bytesMax, evicted } = await fill(kind);
    assert.deepEqual([size, evicted, bytesMax], [100_000, 0, BUDGET_BYTES]);
    bound(t, `heap for 100,000 tasks ${kind}`, taken / MB, 45, 'MB');
    bound(t, `heap for 100,000 tasks ${kind}, as the table counts it`, taken / MB, bytes / MB, 'MB');
    assert.ok(bytes < bytesMax, `counted as ${bytes}`);
  });
}

for (const kind of [
  'with eight sendings of the longest names',
  'with eight runs of the longest names, each sent by another client',
  'that each run on another worker',
]) {
  test(`tasks ${kind} take no more than the limit`, async (t) => {
    const { taken, size, bytes } = await fill(kind);
    bound(t, `heap for tasks ${kind}`, taken / MB, (BUDGET_BYTES + BESIDE_BYTES) / MB, 'MB');
    bound(t, `tasks ${kind}, as counted`, bytes / MB, (BUDGET_BYTES + OVERSHOOT_BYTES) / MB, 'MB');
    assert.ok(bytes > 0.9 * BUDGET_BYTES && size > 4_000, `${size} tasks, counted as ${bytes}`);
  });
}
