/**
 * A Redis that cuts off our subscriber again and again, stops answering, or is replaced by its sentinels, while tasks go on:
 * the bridge subscribes again, and what it missed is counted.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { startRedis } from '../real/redis.ts';
import { until } from '../until.ts';
import {
  cutOffAgainAndAgain,
  EARLY,
  failOver,
  KILLS,
  LATE,
  startListening,
  startTasks,
} from './redis-outage.ts';

test(`a subscriber that is cut off ${KILLS} times is back each time, and each gap is counted`, async (t) => {
  const redis = await startRedis();
  t.after(() => redis.stop());
  const { bridge, counts, counted, falls } = await startListening(t, redis.url, LATE);
  const tasks = startTasks(t, redis.url);
  await cutOffAgainAndAgain(t, redis.url);
  await counted(await tasks.finish());
  await until('all sessions are counted', () => counts().connections === KILLS + 1, counts);
  assert.equal(falls(), 0);
  assert.ok(counts().started > 0 && bridge.alive());
});

test('a server that stops answering under load is noticed and connected again, and the gap is counted', async (t) => {
  const redis = await startRedis();
  t.after(() => redis.stop());
  const { bridge, counts, counted, falls } = await startListening(t, redis.url, EARLY);
  const tasks = startTasks(t, redis.url);
  await until('tasks are counted', () => counts().started > 0, counts);
  redis.pause();
  await bridge.logged(/no reply within 2000 ms/u);
  redis.resume();
  // A busy machine may let it seem to be gone more than once.
  await until('it is connected again', () => counts().connections >= 2, counts);
  await delay(1000);
  await counted(await tasks.finish());
  assert.equal(falls(), 0);
});

test('a master that dies under load is replaced by its sentinels, and events are counted again', async (t) => {
  const { bridge, counts, counted, falls, tasks, checked } = await failOver(t);
  assert.match(checked, /✓ connected to sentinel:\/\/\S+\n {2}✓ 1 worker: 1 sent heartbeats/u);
  await counted(await tasks.finish());
  assert.deepEqual([falls(), bridge.alive()], [0, true]);
  // A busy machine may need more than one attempt until the new master stays.
  assert.ok(counts().connections >= 2);
});
