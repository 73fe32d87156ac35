/** What replaying costs: turns of the event loop, memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bound } from '../../bound.ts';
import { longestTurnMs } from '../../longest-turn.ts';
import { leastMs } from '../../processor-time.ts';
import { endlessRecording, replay, wideRecording } from './replay.ts';

const TURN_MS_MAX = 50;
const GROWN_BYTES_MAX = 64e6;

test('a line that would take long to parse blocks nothing', async (t) => {
  const { path, reason } = wideRecording(t);
  const turnMs = await leastMs(TURN_MS_MAX, () =>
    longestTurnMs(async () => {
      const { session } = replay(t, path, 'max');
      assert.deepEqual(await session.ended, { kind: 'unusable', reason });
    }),
  );
  bound(t, 'longest turn while a recorded line of 2.7 MB is refused', turnMs, TURN_MS_MAX, 'ms');
});

test('an endless line is refused before it fills the memory', async (t) => {
  const path = endlessRecording(t, 2 ** 30);
  const before = process.memoryUsage().rss;
  const { session } = replay(t, path, 'max');
  const end = await session.ended;
  const grown = process.memoryUsage().rss - before;
  assert.ok(end.kind === 'unusable');
  assert.match(end.reason, /line 2: is longer than 6496256 bytes$/);
  bound(t, 'memory for a recorded line of 1 GB', grown / 1e6, GROWN_BYTES_MAX / 1e6, 'MB');
});
