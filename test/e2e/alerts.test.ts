/**
 * The alerts, fired by what happens to live processes: Celery on Redis → bridge → Collector → Prometheus, with the rules as they are,
 * but for a clock that runs ten times as fast. In the healthy shop, and while its workers are replaced, none fires.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { runbookOf, SYMPTOMS, type SymptomCode } from '../../src/health/symptoms.ts';
import { ROOT } from '../contract/sources.ts';
import { RULE_FILES } from '../dashboards/rule-files.ts';
import { type CeleryWorker, celeryFlavours } from '../real/celery.ts';
import { skipWithoutOtelcol } from '../real/otelcol.ts';
import type { Prometheus } from '../real/prometheus.ts';
import { startRedis } from '../real/redis.ts';
import { until } from '../until.ts';
import type { BridgeProcess, Ending } from './bridge-process.ts';
import { startBackends, startShort } from './prometheus-backends.ts';
import { employ, type ShopCluster } from './shop.ts';
import { sendTasks } from './shop-tasks.ts';

const FASTER = 10;
const SECONDS: Readonly<Record<string, number>> = { m: 60, h: 3600, d: 86_400 };
/** A minute of the rules. */
const MINUTE_MS = 60_000 / FASTER;
/** What is longer even then, in seconds. */
const SHORTENED = [
  ['vector(25 * 3600)', 'vector(60)'],
  ['> 600', '> 30'],
] as const;
/** Heartbeats come every two seconds, and later on a busy machine. */
const WORKER_TIMEOUT_S = 10;
const SERIES_RETENTION_S = 15;
const FIRING = 'count by (alertname) (ALERTS{alertstate="firing"})';
const GOOD = ['cup'];
const UNKNOWN = ['no such item'];

function fasterRules(): Readonly<Record<string, string>> {
  const texts = RULE_FILES.map((file) => {
    let text = readFileSync(path.join(ROOT, file), 'utf8');
    for (const [long, short] of SHORTENED) text = text.replaceAll(long, short);
    const faster = text.replaceAll(
      /(?<=\[|\[\w+:|offset |for: |interval: )(\d+)([mhd])\b/gu,
      (_, count: string, unit: string) =>
        `${(Number(count) * (SECONDS[unit] ?? assert.fail(unit))) / FASTER}s`,
    );
    return [path.basename(file), faster];
  });
  const rules: Readonly<Record<string, string>> = Object.fromEntries(texts);
  for (const [, short] of SHORTENED) assert.ok(Object.values(rules).some((text) => text.includes(short)));
  return rules;
}

/** So many stock checks, spread over the time. */
async function check(cluster: ShopCluster, count: number, item: readonly string[], overS = 0): Promise<void> {
  const orders = Array.from({ length: count }, (_, index) => ({
    task: 'shop.check_stock',
    args: item,
    ...(overS > 0 && { countdown: (overS * index) / count }),
  }));
  await sendTasks(cluster, orders);
}

async function firing(prometheus: Prometheus): Promise<readonly string[]> {
  return (await prometheus.query(FIRING)).map(({ labels }) => labels['alertname'] ?? '').sort();
}

async function untilFires(prometheus: Prometheus, alert: string): Promise<void> {
  let seen: readonly string[] = [];
  await until(
    `${alert} fires`,
    async () => {
      seen = await firing(prometheus);
      return seen.includes(alert);
    },
    () => seen,
  );
}

/** The same condition is found by the bridge, whose thresholds and times are the real ones. */
async function untilBoth({ prometheus, bridge }: Shop, alert: string, code: SymptomCode): Promise<void> {
  assert.ok('alert' in SYMPTOMS[code] && runbookOf(code) === `docs/alerts.md#${alert.toLowerCase()}`);
  await Promise.all([untilFires(prometheus, alert), untilStatus(bridge, `"code":"${code}"`)]);
}

async function untilStatus(bridge: BridgeProcess, part: string): Promise<void> {
  const [, url = ''] = /status at (\S+?),/u.exec(bridge.log()) ?? [];
  let seen = '';
  await until(
    `the status has ${part}`,
    async () => {
      seen = await (await fetch(url)).text();
      return seen.includes(part);
    },
    () => seen,
  );
}

/** On a busy machine an export can take longer than its short interval here, which is what these are about. */
const OF_A_BUSY_MACHINE: readonly string[] = ['CeleryOtelExportsFail', 'CeleryOtelAbsent'];

type Shop = Awaited<ReturnType<typeof startShop>>;

function start(t: Ending, cluster: ShopCluster, nodename: string): Promise<CeleryWorker> {
  return employ(t, { ...cluster, nodename });
}

/** Two workers whose numbers are in Prometheus. */
async function startShop(t: Ending) {
  const flavour = celeryFlavours().at(-1) ?? assert.fail('there is no Celery');
  const redis = await startRedis();
  t.after(() => redis.stop());
  const cluster = { flavour, broker: redis.url, backend: redis.url };
  const { collector, prometheus } = await startBackends(t, fasterRules());
  const bridge = await startShort(t, cluster.broker, collector, {
    CELERY_OTEL_WORKER_TIMEOUT: String(WORKER_TIMEOUT_S),
    CELERY_OTEL_SERIES_RETENTION: String(SERIES_RETENTION_S),
    CELERY_OTEL_ZERO_FIRST: '10',
    CELERY_OTEL_STATUS_ADDRESS: '0',
  });
  const workers = await Promise.all([start(t, cluster, 'w1'), start(t, cluster, 'w2')]);
  await check(cluster, 20, GOOD);
  await until(
    'the workers are up, and have succeeded',
    async () =>
      (await prometheus.query('sum(celery:worker:up)'))[0]?.value === 2 &&
      (await prometheus.query('celery:task_last_success:timestamp')).length > 0,
  );
  return { cluster, bridge, prometheus, workers };
}

// Each mostly waits.
describe('alerts', { skip: skipWithoutOtelcol(), concurrency: true }, () => {
  describe('none fires', { concurrency: 1 }, () => {
    const ends: (() => unknown)[] = [];
    const others: CeleryWorker[] = [];
    const ending: Ending = { after: (end) => ends.push(end) };
    let shop: Shop;
    before(async () => {
      shop = await startShop(ending);
    });
    after(async () => {
      for (const end of ends.reverse()) await end();
    });

    test('in the healthy shop, and while its workers are replaced', async () => {
      const { cluster, bridge, prometheus, workers } = shop;
      await check(cluster, 60, GOOD, 15);
      await delay(3 * MINUTE_MS);
      for (const [index, old] of workers.entries()) {
        others.push(await start(ending, cluster, `w${index + 3}`));
        await check(cluster, 20, GOOD, 5);
        await old.stop();
      }
      await check(cluster, 60, GOOD, 15);
      await delay(5 * MINUTE_MS);
      const fired = await prometheus.query(`max_over_time((${FIRING})[10m:1s])`);
      const unexpected = fired.filter(({ labels }) => !OF_A_BUSY_MACHINE.includes(labels['alertname'] ?? ''));
      assert.deepEqual(unexpected, []);
      assert.equal((await prometheus.query('sum(celery_worker_up)'))[0]?.value, 2);
      await untilStatus(bridge, '"grade":"fine","summary":"Fine: 1 broker connected, 2 workers up');
    });

    test('when all workers said goodbye, and no messages wait', async () => {
      const { bridge, prometheus } = shop;
      await Promise.all(others.map((worker) => worker.stop()));
      await delay(4 * MINUTE_MS);
      assert.ok(!(await firing(prometheus)).includes('CeleryNoWorkers'));
      await untilStatus(bridge, '"grade":"fine","summary":"Fine: 1 broker connected');
    });
  });

  describe('each fires, one after the other', { concurrency: 1 }, () => {
    const ends: (() => unknown)[] = [];
    let shop: Shop;
    before(async () => {
      shop = await startShop({ after: (end) => ends.push(end) });
    });
    after(async () => {
      for (const end of ends.reverse()) await end();
    });

    test('a task fails for the first time ever', async () => {
      await check(shop.cluster, 1, UNKNOWN);
      await untilBoth(shop, 'CeleryTaskFirstFailure', 'task-first-failure');
      assert.deepEqual(await firing(shop.prometheus), ['CeleryTaskFirstFailure']);
    });

    test('a fifth of its runs fails', async () => {
      await check(shop.cluster, 80, GOOD);
      await check(shop.cluster, 20, UNKNOWN);
      await untilBoth(shop, 'CeleryTaskFailureRatioHigh', 'task-fails-often');
    });

    test('a worker dies, and is down after its series have ended too', async () => {
      const { prometheus, workers } = shop;
      await workers[0].kill();
      await untilBoth(shop, 'CeleryWorkerDown', 'workers-silent');
      await until(
        'its series have ended',
        async () => (await prometheus.query('celery_worker_up')).length === 1,
      );
      await delay(2 * MINUTE_MS);
      const names = await firing(prometheus);
      assert.ok(names.includes('CeleryWorkerDown') && !names.includes('CeleryNoWorkers'), names.join());
    });

    test('all workers are dead, a task waits, and none succeeds', async () => {
      await shop.workers[1].kill();
      await check(shop.cluster, 1, GOOD);
      await untilBoth(shop, 'CeleryNoWorkers', 'workers-gone');
      for (const alert of ['CeleryTaskWaitLong', 'CeleryQueueUnconsumed', 'CeleryTaskStale'])
        await untilFires(shop.prometheus, alert);
    });

    test('the bridge is killed', async () => {
      assert.ok(!(await firing(shop.prometheus)).includes('CeleryOtelAbsent'));
      shop.bridge.signal('SIGKILL');
      await untilFires(shop.prometheus, 'CeleryOtelAbsent');
    });
  });
});
