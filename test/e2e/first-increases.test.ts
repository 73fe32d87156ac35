/**
 * What Prometheus’ `increase()` says of series that appear: celery-otel → the real Collector → the real Prometheus. A first
 * failure, a failure after a restart of celery-otel, and one of a series that had ended are all counted.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { borrowRabbitmq } from '../real/lent-rabbitmq.ts';
import { skipWithoutOtelcol } from '../real/otelcol.ts';
import { until } from '../until.ts';
import { startBackends, startShort } from './prometheus-backends.ts';
import { event, publish } from './publish.ts';

/** Twenty times the interval of the scrapes, which a busy machine delays. */
const ZERO_FIRST = '10';
const WORKER = { hostname: 'w1@shop', pid: 17 };

/** Of the counter, and of the measurements in the histogram and its buckets; what happened, not what is left. */
const QUERIES = [
  'sum(increase(celery_task_failed_total{celery_task_name="nightly"}[10m]))',
  'sum(increase(celery_task_runtime_seconds_count{celery_task_name="nightly"}[10m]))',
  'sum(increase(celery_task_runtime_seconds_bucket{celery_task_name="nightly", le="+Inf"}[10m]))',
];

test('the increase of a series that is new, restarted or back is what happened', {
  skip: skipWithoutOtelcol(),
  timeout: 180_000,
}, async (t) => {
  const rabbitmq = await borrowRabbitmq();
  t.after(() => rabbitmq.remove());
  const { collector, prometheus } = await startBackends(t);
  const start = () => startShort(t, rabbitmq.url, collector, { CELERY_OTEL_ZERO_FIRST: ZERO_FIRST });

  async function fail(times: number): Promise<void> {
    for (let run = 0; run < times; run += 1) {
      const received = event('task-received', { ...WORKER, name: 'nightly' });
      const of = { ...WORKER, uuid: received['uuid'] };
      // Each has the time at which it is made.
      const started = event('task-started', of);
      const failed = event('task-failed', { ...of, exception: 'KeyError()', traceback: '' });
      await publish(rabbitmq.url, [received, started, failed]);
    }
  }
  async function happened(times: number, what: string): Promise<void> {
    for (const query of QUERIES) {
      let seen: number | undefined;
      const isSo = async () => {
        seen = (await prometheus.query(query))[0]?.value;
        // It extrapolates a little.
        return Math.round(seen ?? 0) === times;
      };
      await until(`${what}: ${query} is ${times}`, isSo, () => seen);
    }
  }

  /** Whether Prometheus has a sample of it now. */
  const isScraped = async (series: string) => (await prometheus.query(series)).length > 0;

  const bridge = await start();
  // It scrapes for the first time long after its start: until then, it would miss the 0.
  await until('Prometheus scrapes', () => isScraped('up == 1'));
  await fail(1);
  await happened(1, 'a first failure');
  bridge.signal('SIGTERM');
  assert.equal((await bridge.ended()).code, 0);
  await start();
  await fail(2);
  await happened(3, 'after a restart');
  // The worker is forgotten.
  await until('its series have ended', async () => !(await isScraped('celery_task_failed_total')));
  await fail(1);
  await happened(4, 'after its end');
});
