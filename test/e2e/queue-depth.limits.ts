/** Queues are polled as often as they are to be. */
import { test } from 'node:test';
import { bound } from '../bound.ts';
import { startRedis } from '../real/redis.ts';
import { until } from '../until.ts';
import { pollsIn, startBrokerPolls } from './queue-polls.ts';

const INTERVAL_S = 2;

test('no poll of queues is late', async (t) => {
  const redis = await startRedis();
  t.after(() => redis.stop());
  const { exports } = await startBrokerPolls(t, redis.url, {
    CELERY_OTEL_COLLECTION_INTERVAL: String(INTERVAL_S),
  });
  const polls = await until('four polls', () => {
    const seen = pollsIn(exports).polls;
    return seen.length >= 4 && seen;
  });
  const apartMs = polls.slice(1).map((timeMs, index) => timeMs - (polls[index] ?? 0));
  bound(t, 'between two polls of queues, every two seconds', Math.max(...apartMs), 1500 * INTERVAL_S, 'ms');
});
