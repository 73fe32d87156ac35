/** What the costliest lines of a recording cost. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeMessage } from '../../../src/broker/recording/format.ts';
import { LINE_LIMITS } from '../../../src/broker/recording/line-limits.ts';
import { bound } from '../../bound.ts';
import { leastMs, normalMs } from '../../processor-time.ts';
import { costliestLines } from './long-lines.ts';

const COST_MS_MAX = 25;

test('no line takes long to parse or to refuse', async (t) => {
  for (const [what, each] of Object.entries(costliestLines())) {
    assert.ok(each.length <= LINE_LIMITS.line.max);
    const costMs = await leastMs(COST_MS_MAX, () => normalMs(() => decodeMessage(each)));
    bound(t, `the longest recorded line, of ${what}`, costMs, COST_MS_MAX, 'ms');
  }
});
