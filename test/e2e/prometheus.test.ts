/**
 * What a user of Prometheus sees: Celery → bridge → the real Collector with `otel-config/` → the real Prometheus. The
 * names, types, labels, values and exemplars of one run of the shop, and its series while workers and the bridge restart.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Point } from '../../examples/demo/otlp-points.ts';
import { METRIC_NAMES, METRICS, type MetricName } from '../../src/meter/catalog.ts';
import { prometheusName } from '../../src/meter/prometheus-name.ts';
import { decodeSpans } from '../otlp/encode/official-otlp.ts';
import { type GrpcReceiver, startGrpcReceiver } from '../otlp/send/grpc-receiver.ts';
import { celeryFlavours } from '../real/celery.ts';
import { type Otelcol, skipWithoutOtelcol } from '../real/otelcol.ts';
import type { Labels, Prometheus, Sample } from '../real/prometheus.ts';
import { eventCounts, placeOrders } from '../real/shop-report.ts';
import { until } from '../until.ts';
import { startBridge } from './bridge-process.ts';
import { countedTasks } from './counted.ts';
import { FORGOTTEN_MS, startBackends, startShort } from './prometheus-backends.ts';
import { employ, shopClusters } from './shop.ts';
import { steadyTasks } from './steady-tasks.ts';

const skip = skipWithoutOtelcol();
const clusterOf = shopClusters();
const flavour = celeryFlavours().at(-1) ?? assert.fail('there is no Celery');

const ORDERS = 200;
const PACE_HZ = 20;
/** A sample with an exemplar, in OpenMetrics. */
const EXEMPLIFIED = /^(\w+)\{[^#\n]*# \{(?=[^}]*span_id="[0-9a-f]{16}")(?=[^}]*trace_id="[0-9a-f]{32}")/gmu;
describe('Prometheus', { concurrency: 2 }, () => {
  test('the shop’s tasks are in Prometheus with the expected names, types and labels, as many as Celery reports', {
    skip,
  }, async (t) => {
    const cluster = await clusterOf(flavour);
    const { collector, prometheus } = await startBackends(t);
    const traces = await startGrpcReceiver();
    t.after(() => traces.stop());
    const bridge = startBridge(t, {
      CELERY_BROKER_URL: cluster.broker,
      OTEL_TRACES_EXPORTER: 'otlp',
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `http://127.0.0.1:${traces.port}`,
      OTEL_BSP_SCHEDULE_DELAY: '200',
      OTEL_SERVICE_NAME: 'shop',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,team=checkout',
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.ports.otlpGrpc}`,
      OTEL_METRIC_EXPORT_INTERVAL: '500',
    });
    await bridge.logged(/connected to/u);
    const worker = await employ(t, { ...cluster, concurrency: 4, nodename: 'all' });
    const scraped = exemplified(collector, [
      'celery_task_runtime_seconds_bucket',
      'celery_task_failed_total',
    ]);
    const expected = eventCounts(await placeOrders({ ...cluster, orders: ORDERS, seed: 3, timeoutS: 120 }));

    let counted = {};
    const isCounted = async () => {
      counted = countedTasks(await pointsIn(prometheus));
      return isDeepStrictEqual(counted, expected);
    };
    await until('all tasks are counted', isCounted, () => counted);

    const reported = typesIn(await collector.metricsText());
    for (const metric of [
      'celery.task.sent',
      'celery.task.runtime',
      'celery.task.wait_time',
      'celery.worker.up',
    ] as const)
      assert.equal(reported.get(nameOf(metric)), METRICS[metric].instrument, metric);
    const ours = new Map(METRIC_NAMES.map((metric) => [nameOf(metric), metric]));
    const strangers = [...reported.keys()].filter(
      (name) => name.startsWith('celery_') && !name.startsWith('celery_otel'),
    );
    assert.deepEqual(
      strangers.filter((name) => !ours.has(name)),
      [],
      'every name is one of the catalog',
    );

    const [up] = await prometheus.query('celery_worker_up{job="shop"}');
    assert.equal(up?.value, 1);
    const { instance = '', ...labels } = up.labels;
    assert.deepEqual(labels, {
      __name__: 'celery_worker_up',
      celery_worker_name: worker.nodename,
      deployment_environment_name: 'test',
      job: 'shop',
    });
    const [info] = await prometheus.query(`target_info{job="shop"}`);
    assert.equal(info?.labels['team'], 'checkout');
    assert.equal(info?.labels['instance'] ?? '', instance, 'so that the two can be joined');
    const [own] = await prometheus.query('sum(celery_otel_events_total{job="celery-otel"})');
    assert.ok((own?.value ?? 0) > ORDERS);

    await scraped;
    const spans = spansIn(traces);
    for (const [name, outcome] of [
      ['celery_task_runtime_seconds_bucket', undefined],
      ['celery_task_wait_time_seconds_bucket', undefined],
      ['celery_task_failed_total', 'failed'],
      ['celery_task_retried_total', 'retried'],
    ] as const) {
      const found = await prometheus.exemplars(`${name}{job="shop"}`);
      t.diagnostic(`${found.length} exemplars of ${name}`);
      assert.ok(found.length > 0, name);
      for (const { series, labels } of found) {
        const span = spans.get(`${labels['trace_id']} ${labels['span_id']}`);
        assert.ok(span !== undefined, `${JSON.stringify(labels)} of ${name} leads nowhere`);
        assert.equal(span['celery.task.name'], series['celery_task_name']);
        if (outcome === undefined) continue;
        assert.equal(span['celery.task.outcome'], outcome);
        assert.equal(span['error.type'], series['error_type']);
        assert.equal(span['celery.worker.name'], series['celery_worker_name']);
      }
    }
  });

  test('each worker has its series; one that returns, and a bridge that is started again, go on with their own', {
    skip,
  }, async (t) => {
    const { broker } = await clusterOf(flavour);
    const { collector, prometheus } = await startBackends(t);
    let bridge = await startShort(t, broker, collector);
    const tasks = await steadyTasks(broker, PACE_HZ);
    t.after(() => tasks.stop());
    /** Resolves once more has been counted of a worker than a moment before. */
    const counts = async (worker: string): Promise<void> => {
      const series = `celery_task_succeeded_total{celery_worker_name="${worker}"}`;
      const seen: number[] = [];
      await until(
        `tasks of ${worker} are counted`,
        async () => {
          const [sample] = await prometheus.query(series);
          if (sample !== undefined) seen.push(sample.value);
          return seen.some((value, index) => value > (seen[index - 1] ?? Infinity));
        },
        () => seen,
      );
    };

    tasks.runOn('celery@old');
    await counts('celery@old');
    tasks.runOn('celery@new');
    await counts('celery@new');
    const series = await prometheus.query('celery_task_succeeded_total');
    assert.equal(series.length, 2, 'one of each worker');
    // Then nothing of the old one is exported any more; and then it is there again.
    await delay(FORGOTTEN_MS);
    tasks.runOn('celery@old');
    await counts('celery@old');
    bridge.signal('SIGTERM');
    assert.equal((await bridge.ended()).code, 0);
    bridge = await startShort(t, broker, collector);
    await counts('celery@old');
    await tasks.stop();
  });
});

/** Resolves once a scrape has had exemplars of each of these names; not all need to have them at once. */
async function exemplified(collector: Otelcol, names: readonly string[]): Promise<void> {
  const missing = new Set(names);
  await until(
    'exemplars of each',
    async () => {
      const text = await collector.openMetricsText();
      for (const [, name = ''] of text.matchAll(EXEMPLIFIED)) missing.delete(name);
      return missing.size === 0;
    },
    () => [...missing],
  );
}

/** By their ids, as in exemplars: the text attributes of each span. */
function spansIn({ requests }: GrpcReceiver): ReadonlyMap<string, Labels> {
  const spans = new Map<string, Labels>();
  for (const { body } of requests) {
    JSON.parse(JSON.stringify(decodeSpans(body)), (_, value) => {
      if (value?.spanId === undefined || value.kind === undefined) return value;
      const ids = [value.traceId, value.spanId].map((bytes) => Buffer.from(bytes).toString('hex'));
      const texts = value.attributes.map((each: { key: string; value: { stringValue?: string } }) => [
        each.key,
        each.value.stringValue ?? '',
      ]);
      spans.set(ids.join(' '), Object.fromEntries(texts));
      return value;
    });
  }
  return spans;
}

const nameOf = (metric: MetricName): string => prometheusName(metric, METRICS[metric]);

/** Name → type, as the text format of Prometheus tells it. */
function typesIn(text: string): ReadonlyMap<string, string> {
  return new Map(
    [...text.matchAll(/^# TYPE (\S+) (\S+)$/gmu)].map(([, name = '', type = '']) => [name, type]),
  );
}

/** The shop’s counters, in the form in which they left the bridge. */
async function pointsIn(prometheus: Prometheus): Promise<readonly Point[]> {
  const samples = await prometheus.query('{job="shop", __name__=~"celery_task_.*_total"}');
  return samples.map(pointOf);
}

function pointOf({ labels, value }: Sample): Point {
  const metric = METRIC_NAMES.find((name) => nameOf(name) === labels['__name__']) ?? '';
  return {
    ...{
      resource: {},
      scope: '',
      metric,
      unit: '',
      kind: 'sum',
      temporality: 'cumulative',
      monotonic: true,
      value,
    },
    attributes: {
      'celery.task.name': labels['celery_task_name'] ?? '',
      'celery.queue.name': labels['celery_queue_name'] ?? '',
      'celery.worker.name': labels['celery_worker_name'] ?? '',
      'error.type': labels['error_type'] ?? '',
    },
    ...{ sum: 0, bounds: [], bucketCounts: [], startMs: 0, timeMs: 0 },
  };
}
