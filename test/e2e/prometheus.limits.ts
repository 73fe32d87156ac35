/** How exact a rate of Prometheus is while workers are replaced and the bridge restarts: Celery’s events come at a steady pace. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { celeryFlavours } from '../real/celery.ts';
import { skipWithoutOtelcol } from '../real/otelcol.ts';
import { startBackends, startShort } from './prometheus-backends.ts';
import { shopClusters } from './shop.ts';
import { steadyTasks } from './steady-tasks.ts';

const skip = skipWithoutOtelcol();
const clusterOf = shopClusters();
const flavour = celeryFlavours().at(-1) ?? assert.fail('there is no Celery');

const PACE_HZ = 50;
const WINDOW_MS = 60_000;
/** Of Prometheus' rate, in which a new series counts from its second sample on only. */
const TOLERANCE = 0.02;
/**
 * Once of two times: what has been counted before a series has its first sample is more where others keep the machine
 * busy in that very moment.
 */
const isNear = (rate = 0): boolean => Math.abs(rate / PACE_HZ - 1) <= TOLERANCE;
/** Over a few seconds the beginning and the end of a series weigh more. */
const SPIKE = 1.4;

test('a rate is right when a worker is replaced, and has no false spike when one returns or the bridge restarts', {
  skip,
}, async (t) => {
  const { broker } = await clusterOf(flavour);
  const { collector, prometheus } = await startBackends(t);
  let bridge = await startShort(t, broker, collector);
  const tasks = await steadyTasks(broker, PACE_HZ);
  t.after(() => tasks.stop());

  tasks.runOn('celery@old');
  await prometheus.untilSamples('celery_task_succeeded_total');
  // The beginning of the first series is to be out of the window: of what was before its first sample no rate tells.
  await delay(WINDOW_MS / 2 + 3000);
  const rates: number[] = [];
  for (const worker of ['celery@new', 'celery@newer']) {
    if (rates.length > 0) await delay(WINDOW_MS / 2 + 3000);
    tasks.runOn(worker);
    await delay(WINDOW_MS / 2);
    const [rate] = await prometheus.query('sum(rate(celery_task_succeeded_total[1m]))');
    const [series] = await prometheus.query('count(last_over_time(celery_task_succeeded_total[1m]))');
    // What was counted before the first sample of the new series is in no rate; a busy machine delays that sample.
    const [first] = await prometheus.query(
      `min_over_time(celery_task_succeeded_total{celery_worker_name="${worker}"}[1m])`,
    );
    rates.push((rate?.value ?? 0) + (first?.value ?? 0) / (WINDOW_MS / 1000));
    t.diagnostic(
      `${rate?.value} tasks a second, and ${first?.value} before the first sample, where there were ${PACE_HZ}`,
    );
    if (rates.length === 1) assert.equal(series?.value, 2, 'one of each worker');
    if (isNear(rates.at(-1))) break;
  }
  assert.ok(isNear(rates.at(-1)), `rates of ${rates.join(' and ')}`);

  // By now nothing of the old one is exported any more; here it is again.
  tasks.runOn('celery@old');
  await delay(8000);
  bridge.signal('SIGTERM');
  assert.equal((await bridge.ended()).code, 0);
  bridge = await startShort(t, broker, collector);
  await delay(8000);
  const [peak] = await prometheus.query(
    'max_over_time(sum(rate(celery_task_succeeded_total[5s]))[30s:500ms])',
  );
  t.diagnostic(`at most ${peak?.value} a second over five seconds`);
  assert.ok((peak?.value ?? Infinity) <= PACE_HZ * SPIKE, `a spike of ${peak?.value}`);
  const [now] = await prometheus.query('sum(rate(celery_task_succeeded_total[5s]))');
  assert.ok((now?.value ?? 0) > PACE_HZ / 2, 'it goes on');
  await tasks.stop();
});
