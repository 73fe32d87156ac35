/**
 * Every query of the dashboards, of the rules, of docs/queries.md and of what celery-exporter and Flower publish, asked of a Prometheus
 * that holds a run of the shop: Celery on Redis → bridge → Collector → Prometheus. None is an error, and all have data but for those
 * that are named here.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { DASHBOARDS } from '../../dashboards/source/dashboards.ts';
import { ROOT } from '../contract/sources.ts';
import { questions } from '../dashboards/documented-queries.ts';
import { filledIn, parseQuery } from '../dashboards/promql.ts';
import { RULE_FILES, rulesOf } from '../dashboards/rule-files.ts';
import { startPeerCollectors } from '../otel-config/peer-collectors.ts';
import { startGrpcReceiver } from '../otlp/send/grpc-receiver.ts';
import { celeryFlavours } from '../real/celery.ts';
import { skipWithoutOtelcol } from '../real/otelcol.ts';
import { type Prometheus, startPrometheus } from '../real/prometheus.ts';
import { startRedis } from '../real/redis.ts';
import { placeOrders } from '../real/shop-report.ts';
import { until } from '../until.ts';
import { startBridge } from './bridge-process.ts';
import { startPeersPrometheus, untilPeersHaveData, untilSumsAreSame } from './peers-asked.ts';
import { employ } from './shop.ts';

const ORDERS = 60;
/** Wider than the run on any machine. */
const RANGES = { $__rate_interval: '15m', $__range: '15m' };

/** Metrics that this run does not have, and why. What asks for one of them may have no data. */
const ABSENT: Readonly<Record<string, string>> = {
  celery_queue_consumers: 'RabbitMQ only',
  celery_queue_delayed: 'RabbitMQ only',
  celery_worker_deaf: 'absent unless a worker is deaf',
  celery_worker_exits_total: 'no worker ends',
  celery_worker_events_lost_total: 'no event is lost',
  celery_task_lost_total: 'no task is lost',
  celery_task_cancelled_total: 'no worker loses its connection',
  celery_otel_input_dropped_total: 'nothing is dropped',
  celery_otel_broker_sessions_total: 'no session ends',
  celery_otel_clock_skews_total: 'there is one clock',
  celery_otel_table_evictions_total: 'no table is full',
  celery_otel_series_overflowed_total: 'no metric is full',
  celery_otel_export_points_rejected_total: 'the Collector rejects nothing',
  celery_otel_batch_items_rejected_total: 'nor does the receiver',
  celery_worker_autoscaler_min: 'no worker has one',
  celery_worker_autoscaler_max: 'no worker has one',
  celery_otel_items_dropped_total: 'no span is dropped',
  celery_otel_series_retired_total: 'no worker is forgotten',
  celery_otel_series_unmarked_total: 'every end is reported',
  celery_otel_fields_implausible_total: 'all fields are plausible',
  celery_otel_measurements_refused_total: 'every measurement fits',
  celery_otel_lost_refuted_total: 'nothing is lost',
  celery_otel_defects_total: 'there is no internal error',
};
/** Their results are absent for other reasons. */
const EMPTY: Readonly<Record<string, string>> = {
  'Failed exports': 'no export fails',
};

interface Asked {
  readonly name: string;
  readonly expr: string;
}

const shown: readonly Asked[] = Object.values(DASHBOARDS).flatMap(({ title, groups }) =>
  groups.flatMap(({ panels }) =>
    panels.flatMap((panel) =>
      panel.queries.map(({ expr, legend }) => ({ name: `${title} / ${panel.title} / ${legend}`, expr })),
    ),
  ),
);
const documented: readonly Asked[] = questions().flatMap(({ title, queries }) =>
  queries.map((expr) => ({ name: `docs/queries.md / ${title} /`, expr })),
);
const asked = [...shown, ...documented];
const rules = RULE_FILES.flatMap(rulesOf);

const isExcused = ({ name, expr }: Asked): boolean =>
  parseQuery(expr).selectors.some(({ metric }) => metric in ABSENT) ||
  Object.keys(EMPTY).some((title) => name.includes(` / ${title} / `));

async function hasData(prometheus: Prometheus, expr: string): Promise<boolean> {
  const samples = await prometheus.query(filledIn(expr, RANGES));
  return samples.some(({ value }) => Number.isFinite(value));
}

/** The rules as they are, but evaluated more often. */
function ownRules(): Readonly<Record<string, string>> {
  const texts = RULE_FILES.map((file) => [
    path.basename(file),
    readFileSync(path.join(ROOT, file), 'utf8').replaceAll('interval: 1m', 'interval: 1s'),
  ]);
  return Object.fromEntries(texts);
}

interface Shop {
  /** Under the names of celery-otel. */
  readonly prometheus: Prometheus;
  /** Under those of celery-exporter and Flower. */
  readonly peers: Prometheus;
}

/** Runs the shop until all of its orders have ended. */
async function runShop(t: TestContext): Promise<Shop> {
  const flavour = celeryFlavours().at(-1) ?? assert.fail('there is no Celery');
  const [redis, collectors, traces] = await Promise.all([
    startRedis(),
    startPeerCollectors(t),
    startGrpcReceiver(),
  ]);
  t.after(() => Promise.all([redis.stop(), traces.stop()]));
  const { ports } = collectors.native;
  const [prometheus, peers] = await Promise.all([
    startPrometheus({
      scrape: [{ job: 'collector', targets: [`127.0.0.1:${ports.prometheus}`], intervalMs: 500 }],
      rules: ownRules(),
    }),
    startPeersPrometheus(t, collectors),
  ]);
  t.after(() => prometheus.stop());
  const cluster = { flavour, broker: redis.url, backend: redis.url };
  const bridge = startBridge(t, {
    CELERY_BROKER_URL: cluster.broker,
    CELERY_OTEL_ATTRIBUTES_ENABLED: 'celery.task.prefetch_time/celery.worker.name',
    CELERY_OTEL_ZERO_FIRST: '1',
    OTEL_TRACES_EXPORTER: 'otlp',
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `http://127.0.0.1:${traces.port}`,
    OTEL_BSP_SCHEDULE_DELAY: '200',
    OTEL_SERVICE_NAME: 'shop',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${ports.otlpGrpc}`,
    OTEL_METRIC_EXPORT_INTERVAL: '500',
  });
  await bridge.logged(/connected to/u);
  await employ(t, { ...cluster, concurrency: 4, nodename: 'all' });
  // The first ones make the series, and the next ones make them grow.
  for (const seed of [3, 4]) await placeOrders({ ...cluster, orders: ORDERS, seed, timeoutS: 120 });
  return { prometheus, peers };
}

async function untilAllHaveData(prometheus: Prometheus): Promise<void> {
  const missing = new Set(asked.filter((each) => !isExcused(each)));
  assert.ok(missing.size > asked.length / 2);
  await until(
    'all have data',
    async () => {
      for (const each of missing) if (await hasData(prometheus, each.expr)) missing.delete(each);
      return missing.size === 0;
    },
    () => [...missing].map(({ name, expr }) => `${name}: ${filledIn(expr, RANGES)}`).join('\n'),
  );
  for (const each of asked.filter(isExcused)) await prometheus.query(filledIn(each.expr, RANGES));
}

/** An alert that does not fire has no data, but what it asks for has. */
async function untilRulesHaveData(prometheus: Prometheus): Promise<void> {
  const bare = new Set(rules.flatMap(({ expr }) => parseQuery(expr).selectors.map(({ metric }) => metric)));
  const without = new Set([...bare].filter((metric) => !(metric in ABSENT)));
  await until(
    'all rules have what they ask for',
    async () => {
      for (const metric of without)
        if (await hasData(prometheus, `{__name__="${metric}"}`)) without.delete(metric);
      return without.size === 0;
    },
    () => [...without],
  );
  for (const { expr } of rules) await prometheus.query(expr);
}

async function assertValues(prometheus: Prometheus): Promise<void> {
  for (const title of ['Workers up', 'Up', 'Brokers connected']) {
    const [{ expr } = assert.fail(title)] = asked.filter(({ name }) => name.includes(` / ${title} / `));
    assert.equal((await prometheus.query(filledIn(expr, RANGES)))[0]?.value, 1, title);
  }
}

test('every query has data', { skip: skipWithoutOtelcol() }, async (t) => {
  const { prometheus, peers } = await runShop(t);
  await untilAllHaveData(prometheus);
  await untilRulesHaveData(prometheus);
  await assertValues(prometheus);
  await untilPeersHaveData(peers);
  await untilSumsAreSame(prometheus, peers);
});
