/** How soon a bridge is back when a Redis cuts it off, or is replaced by its sentinels. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bound } from '../bound.ts';
import { startRedis } from '../real/redis.ts';
import { cutOffAgainAndAgain, EARLY, failOver, KILLS, startListening, startTasks } from './redis-outage.ts';

const BACK_WITHIN_MS = 2000;
/** The sentinels agree after a second, and need some more to promote the replica. */
const FAILOVER_MS = 10_000;
const AFTER_FAILOVER_MS = 5000;

test(`a subscriber that is cut off ${KILLS} times misses less than half of the tasks`, async (t) => {
  const redis = await startRedis();
  t.after(() => redis.stop());
  const { counts, counted } = await startListening(t, redis.url, EARLY);
  const tasks = startTasks(t, redis.url);
  const tookMs = await cutOffAgainAndAgain(t, redis.url);
  const processed = await tasks.finish();
  await counted(processed);
  bound(t, 'a subscriber that Redis cuts off is back', Math.max(...tookMs), BACK_WITHIN_MS, 'ms');
  assert.ok(counts().started > processed / 2, `${counts().started} of ${processed}`);
});

test('after a failover, events are counted again soon', async (t) => {
  const { failoverMs, backMs } = await failOver(t);
  assert.ok(failoverMs < FAILOVER_MS, `${failoverMs} ms`);
  bound(t, 'events after a failover by sentinels', backMs, AFTER_FAILOVER_MS, 'ms');
});
