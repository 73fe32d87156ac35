import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { MissedStarts } from '../../../src/cluster/workers/missed-starts.ts';

const WINDOW_MS = 1_000;
const SLICE_MS = WINDOW_MS / 8;

/** Unlike a test's own time limit, this ends a loop. */
function inTime<Result>(work: () => Result): Result {
  return runInNewContext('work()', { work }, { timeout: 5_000 });
}

test('starts at times too large to be counted one by one are counted, and every loop ends', () => {
  // From here on, one slice more is the same number.
  const atMs = 2 ** 54 * SLICE_MS;
  const tally = new MissedStarts(WINDOW_MS);
  inTime(() => {
    for (const slices of [0, 4, 8]) tally.started(atMs + slices * SLICE_MS);
  });
  assert.equal(inTime(() => tally.report(3, { timestampMs: atMs + 80 * SLICE_MS, clock: -1 })).lost, 0);
  assert.equal(inTime(() => tally.report(5, { timestampMs: atMs + 160 * SLICE_MS, clock: -1 })).lost, 2);
});
