import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { type Point, total } from '../../examples/demo/otlp-points.ts';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { decodeMessage, encodeMessage } from '../../src/broker/recording/format.ts';
import { isJsonObject } from '../../src/text/json-structure.ts';
import { runInProcess } from '../cli/process-io.ts';
import { BROKER_NAMES } from '../real/brokers.ts';
import { celeryFlavours, startWorker } from '../real/celery.ts';
import { type Counts, placeOrders, type ShopReport } from '../real/shop-report.ts';
import { until } from '../until.ts';
import { startBridge } from './bridge-process.ts';
import { type ShopCluster, shopClusters } from './shop.ts';
import { lookEverywhere, statusUrl } from './shown-everywhere.ts';

const ORDERS = 150;
const TASKS_MIN = 300;
const WITHHELD = 37;
/** Lost events are a problem for ten minutes, which pass faster in a replay; they do not end before somebody has looked. */
const SPEED = 10;
const PAUSE_MS = 60 * 60_000;
const NO_BACKEND = { OTEL_SERVICE_NAME: 'shop', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' };

const clusterOf = shopClusters();
const flavour = celeryFlavours().reduce((_, newest) => newest);

/** A minute of a real cluster: the delivered events, and Celery’s own report. */
interface Recorded {
  readonly header: string;
  readonly messages: readonly string[];
  readonly report: ShopReport;
}

async function recordCluster(t: TestContext, cluster: ShopCluster, folder: string): Promise<Recorded> {
  const file = join(folder, 'whole.ndjson');
  const recorder = startBridge(t, { CELERY_BROKER_URL: cluster.broker }, ['record', '--out', file]);
  await recorder.logged(/connected to/u);
  const workers = await Promise.all(
    ['w1', 'w2'].map((nodename) => startWorker({ ...cluster, nodename, pool: 'prefork', concurrency: 4 })),
  );
  t.after(() => Promise.all(workers.map((worker) => worker.kill())));
  const report = await placeOrders({ ...cluster, orders: ORDERS, seed: 11 });
  // A worker-offline has the number of started tasks, like a heartbeat.
  await Promise.all(workers.map((worker) => worker.stop()));
  const recorded = () => readFileSync(file, 'utf8').split('\n').slice(1, -1).flatMap(eventsOf);
  await until(
    'both are recorded',
    () => recorded().filter((event) => isOf(event, 'worker-offline')).length === workers.length,
  );
  recorder.signal('SIGTERM');
  assert.equal((await recorder.ended()).code, 0);
  const [header = '', ...messages] = readFileSync(file, 'utf8').trimEnd().split('\n');
  return { header, messages, report };
}

function isOf(event: unknown, type: string): boolean {
  return isJsonObject(event) && event['type'] === type;
}

const isStart = (event: unknown): boolean => isOf(event, 'task-started');

/** The events of a body, which holds one or a list of them. */
function eventsOf(line: string): readonly unknown[] {
  const read = decodeMessage(Buffer.from(line));
  assert.ok(read.ok, line);
  const value: unknown = JSON.parse(read.message.body.toString());
  return Array.isArray(value) ? value : [value];
}

function startsIn(messages: readonly string[]): number {
  return messages.flatMap(eventsOf).filter(isStart).length;
}

/** The messages without that many of their `task-started`, evenly distributed. */
function skipped(messages: readonly string[], count: number): readonly string[] {
  const starts = startsIn(messages);
  let start = -1;
  const isKept = (event: unknown): boolean => {
    if (!isStart(event)) return true;
    start += 1;
    return Math.floor((start * count) / starts) === Math.floor(((start + 1) * count) / starts);
  };
  return messages.flatMap((line) => {
    const events = eventsOf(line);
    const kept = events.filter(isKept);
    if (kept.length === events.length) return [line];
    return kept.length === 0 ? [] : [withEvents(line, kept)];
  });
}

function withEvents(line: string, events: readonly unknown[]): string {
  const read = decodeMessage(Buffer.from(line));
  assert.ok(read.ok, line);
  const written = encodeMessage({ ...read.message, body: Buffer.from(JSON.stringify(events)) });
  assert.ok(written.ok);
  return written.line;
}

/** The received metrics after the process has replayed these messages. */
async function played(t: TestContext, file: string): Promise<readonly Point[]> {
  const sink = await startReceiver();
  t.after(() => sink.stop());
  const bridge = startBridge(t, {
    CELERY_BROKER_URL: `recording:${file}?speed=max`,
    OTEL_SERVICE_NAME: 'shop',
    OTEL_EXPORTER_OTLP_ENDPOINT: sink.url,
  });
  assert.equal((await bridge.ended()).code, 0);
  return sink.latest('shop');
}

/** The message as if it had come long after those before it. */
function delayed(line: string): string {
  const read = decodeMessage(Buffer.from(line));
  assert.ok(read.ok, line);
  const written = encodeMessage({ ...read.message, arrivedAtMs: read.message.arrivedAtMs + PAUSE_MS });
  assert.ok(written.ok);
  return written.line;
}

/** While it is replayed, so that there is a status: the loss is a problem in all places. */
async function shownInMidst(t: TestContext, file: string): Promise<void> {
  const { showsEverywhere } = lookEverywhere(t);
  const bridge = startBridge(t, {
    CELERY_BROKER_URL: `recording:${file}?speed=${SPEED}`,
    CELERY_OTEL_STATUS_ADDRESS: '0',
    ...NO_BACKEND,
  });
  await showsEverywhere(await statusUrl(bridge), 'events-lost');
}

/** Worker → value of the metric. */
function byWorker(points: readonly Point[], metric: string): Counts {
  return Object.fromEntries(
    points
      .filter((point) => point.metric === metric)
      .map((point) => [point.attributes['celery.worker.name'] ?? '', point.value]),
  );
}

/** The counters of tasks except for their starts. */
function endsIn(points: readonly Point[]): Counts {
  const counters = ['sent', 'received', 'succeeded', 'failed', 'retried', 'rejected', 'revoked', 'lost'];
  return Object.fromEntries(counters.map((counter) => [counter, total(points, `celery.task.${counter}`)]));
}

describe('recorded clusters', { concurrency: BROKER_NAMES.length }, () => {
  for (const broker of BROKER_NAMES) {
    test(`of a cluster that is recorded on ${broker}, ${WITHHELD} withheld task-started events are reported as lost, and no others`, async (t) => {
      const folder = mkdtempSync(join(tmpdir(), 'celery-otel-events-lost-'));
      t.after(() => rmSync(folder, { recursive: true, force: true }));
      const { header, messages, report } = await recordCluster(t, await clusterOf(flavour, broker), folder);
      const starts = startsIn(messages);
      assert.ok(starts >= TASKS_MIN, `${starts} tasks`);
      const some = skipped(messages, WITHHELD);
      assert.equal(startsIn(some), starts - WITHHELD);

      const written = (name: string, lines: readonly string[]) => {
        const file = join(folder, name);
        writeFileSync(file, `${[header, ...lines].join('\n')}\n`);
        return file;
      };
      const gappyFile = written('gappy.ndjson', some);
      const [whole, gappy, check] = await Promise.all([
        played(t, written('as-it-was.ndjson', messages)),
        played(t, gappyFile),
        runInProcess(['check'], { CELERY_BROKER_URL: `recording:${gappyFile}?speed=max`, ...NO_BACKEND }),
      ]);
      const named = check.stdout.matchAll(/^ {2}! w\d@\S+ started (\d+) tasks of which no event arrived$/gmu);
      assert.equal(
        [...named].reduce((sum, [, count]) => sum + Number(count), 0),
        WITHHELD,
        check.stdout,
      );

      assert.equal(total(whole, 'celery.worker.events.lost'), 0);
      assert.equal(total(gappy, 'celery.worker.events.lost'), WITHHELD);
      const begun = Object.fromEntries(
        Object.entries(report.workers).map(([worker, counts]) => [
          worker,
          Object.values(counts).reduce((sum, each) => sum + each, 0),
        ]),
      );
      for (const points of [whole, gappy]) {
        assert.deepEqual(byWorker(points, 'celery.worker.tasks.processed'), begun);
        assert.deepEqual(endsIn(points), endsIn(whole));
      }
      assert.equal(total(whole, 'celery.task.started'), starts);
      assert.equal(total(gappy, 'celery.task.started'), starts - WITHHELD);
      // What it shows does not depend on the broker any more. A browser beside the clusters would take their time.
      if (broker === 'Redis')
        await shownInMidst(t, written('with-a-pause.ndjson', [...some, delayed(some.at(-1) ?? '')]));
    });
  }
});
