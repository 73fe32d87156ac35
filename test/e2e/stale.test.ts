/**
 * Gauges in Prometheus through the Collector’s exporter, which keeps unsent series for minutes: a series that ends must
 * be exported as 0 first.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { borrowRabbitmq } from '../real/lent-rabbitmq.ts';
import { skipWithoutOtelcol, startOtelcol } from '../real/otelcol.ts';
import { until } from '../until.ts';
import { startBridge } from './bridge-process.ts';
import { event, publish } from './publish.ts';
import { SIMULATED_PID, startSimulatedWorkers } from './simulated-workers.ts';

const WORKER = 'w1@shop';

test('an idle queue, a worker that left and a former version read 0 in the Collector’s Prometheus exporter', {
  skip: skipWithoutOtelcol(),
}, async (t) => {
  const [rabbitmq, collector] = await Promise.all([borrowRabbitmq(), startOtelcol()]);
  t.after(() => Promise.all([rabbitmq.remove(), collector.stop()]));
  const bridge = startBridge(t, {
    CELERY_BROKER_URL: rabbitmq.url,
    CELERY_OTEL_METRICS_ENABLED: 'celery.worker.load',
    OTEL_SERVICE_NAME: 'shop',
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.ports.otlpGrpc}`,
    OTEL_METRIC_EXPORT_INTERVAL: '300',
  });
  await bridge.logged(/connected to/u);
  const says = (metric: string, labels: Readonly<Record<string, string>>, value: number) => {
    const all = Object.entries({ ...labels, instance: 'shop', job: 'shop' }).sort();
    return collector.untilMetricsLine(
      `${metric}{${all.map(([name, text]) => `${name}="${text}"`).join(',')}} ${value}`,
    );
  };
  const ofWorker = (metric: string, value: number, labels = {}) =>
    says(`celery_worker_${metric}`, { celery_worker_name: WORKER, ...labels }, value);
  const oldest = (state: string, value: number) =>
    says('celery_task_oldest_age_seconds', { celery_queue_name: 'orders', celery_task_state: state }, value);
  const info = (version: string, value: number) =>
    ofWorker('info', value, { celery_version: version, os_type: 'linux' });
  const word = (type: string, pid: number, version: string, over = {}) =>
    event(type, {
      ...{ hostname: WORKER, pid, active: 1, processed: 1, loadavg: [1, 1, 1] },
      ...{ sw_ver: version, sw_sys: 'Linux', ...over },
    });
  const task = (type: string) => event(type, { uuid: 'u1', name: 'pay', hostname: WORKER, pid: 17 });

  await publish(rabbitmq.url, [
    event('task-sent', { uuid: 'u1', name: 'pay', queue: 'orders', hostname: 'gen1@web' }),
    task('task-received'),
    task('task-started'),
    word('worker-heartbeat', 17, '5.6.3'),
  ]);
  await ofWorker('tasks_active', 1);
  await info('5.6.3', 1);
  await oldest('waiting', 0);
  await publish(rabbitmq.url, [task('task-succeeded')]);
  await oldest('running', 0);
  await publish(rabbitmq.url, [word('worker-heartbeat', 18, '5.7.0')]);
  await info('5.6.3', 0);
  await info('5.7.0', 1);

  await publish(rabbitmq.url, [word('worker-offline', 18, '5.7.0', { active: 0 })]);
  await ofWorker('up', 0);
  await ofWorker('tasks_active', 0);
  await ofWorker('tasks_prefetched', 0);
  await info('5.7.0', 0);
  await ofWorker('load', 0, { celery_worker_load_period: '1m' });
  await ofWorker('exits_total', 0, { celery_worker_exit_reason: 'silence' });
  await ofWorker('exits_total', 1, { celery_worker_exit_reason: 'goodbye' });
});

test('the series of a worker and its queues that stop are gone from the Collector at once, and those of others are not', {
  skip: skipWithoutOtelcol(),
}, async (t) => {
  const [rabbitmq, collector] = await Promise.all([borrowRabbitmq(), startOtelcol()]);
  t.after(() => Promise.all([rabbitmq.remove(), collector.stop()]));
  startBridge(t, {
    CELERY_BROKER_URL: rabbitmq.url,
    CELERY_OTEL_WORKER_TIMEOUT: '5',
    CELERY_OTEL_SERIES_RETENTION: '10',
    CELERY_OTEL_COLLECTION_INTERVAL: '0.5',
    CELERY_OTEL_INITIAL_DELAY: '0.1',
    OTEL_SERVICE_NAME: 'shop',
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.ports.otlpGrpc}`,
    OTEL_METRIC_EXPORT_INTERVAL: '300',
  });
  const beat = (hostname: string) => event('worker-heartbeat', { hostname, active: 0, processed: 1 });
  const run = (hostname: string, over = {}) => {
    const of = { hostname, uuid: `${hostname}-1`, name: 'pay', ...over };
    return [
      event('task-received', of),
      event('task-started', of),
      event('task-succeeded', { ...of, runtime: 0.5 }),
    ];
  };
  const stop = new AbortController();
  t.after(() => stop.abort());
  async function keepAlive(): Promise<void> {
    for (; !stop.signal.aborted; await delay(500)) await publish(rabbitmq.url, [beat('on@b')]);
  }
  const beating = keepAlive();
  /** The names of the series with one of these values. */
  const namesOf = async (...values: readonly string[]) => {
    const lines = (await collector.metricsText()).split('\n').filter((line) => !line.startsWith('#'));
    const named = lines.filter((line) => values.some((value) => line.includes(`="${value}"`)));
    return new Set(named.map((line) => line.slice(0, line.indexOf('{'))));
  };
  const workers = await startSimulatedWorkers(rabbitmq.url, 1);
  t.after(() => workers.stop());
  const [off, queue] = ['w0@shop', 'orders'];
  const reported = ['celery_worker_pool_processes', 'celery_worker_uptime_seconds'];
  let names: ReadonlySet<string> = new Set();
  const untilNames = (what: string, holds: () => boolean) =>
    until(
      what,
      async () => {
        names = await namesOf(off, queue);
        return holds();
      },
      () => [...names],
    );
  // Until the first ones are received.
  await until('the other', async () => {
    await publish(rabbitmq.url, [...run(off, { pid: SIMULATED_PID }), ...run('on@b')]);
    return (await namesOf('on@b')).size > 0;
  });
  const all = [
    ...reported,
    'celery_queue_utilization',
    'celery_task_oldest_age_seconds',
    'celery_task_succeeded_total',
  ];
  await untilNames('everything', () => all.every((name) => names.has(name)));
  await workers.stop();
  // It is known until `series_retention`, and what it had reported stops when it dies.
  await untilNames(
    'its death',
    () => !reported.some((name) => names.has(name)) && names.has('celery_worker_up'),
  );
  await untilNames('its end', () => names.size === 0);
  const left = await namesOf('on@b');
  for (const name of [
    'celery_worker_up',
    'celery_task_succeeded_total',
    'celery_task_runtime_seconds_bucket',
  ])
    assert.ok(left.has(name), `${name}: ${[...left].join('\n')}`);
  stop.abort();
  await beating;
});
