/** What befalls the process itself: no file descriptor is left, or there is an exception that nobody has caught. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { total } from '../../examples/demo/otlp-points.ts';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { published, startScriptedRedis } from '../broker/redis/scripted-redis.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { freePort } from '../real/free-port.ts';
import { until } from '../until.ts';
import { startBridge } from './bridge-process.ts';
import { ownMetric } from './own-metrics.ts';
import { event } from './publish.ts';

async function start(t: TestContext, nodeOptions: readonly string[] = [], exportIntervalMs = 500) {
  const redis = await startScriptedRedis(t);
  const sink = await startReceiver();
  t.after(() => sink.stop());
  const status = `127.0.0.1:${await freePort()}`;
  const bridge = startBridge(
    t,
    {
      CELERY_BROKER_URL: redis.url,
      OTEL_SERVICE_NAME: 'shop',
      OTEL_EXPORTER_OTLP_ENDPOINT: sink.url,
      OTEL_METRIC_EXPORT_INTERVAL: `${exportIntervalMs}`,
      CELERY_OTEL_STATUS_ADDRESS: status,
    },
    ['run'],
    nodeOptions,
  );
  await bridge.logged(/connected to/u);
  let sent = 0;
  const send = (): void => {
    sent += 1;
    redis.publish(published('/0.celeryev/task.sent', JSON.stringify(event('task-sent', { name: 'shop.a' }))));
  };
  const areCounted = () =>
    sink.waitFor('shop', (points) => total(points, 'celery.task.sent') === sent, DEADLINE_MS);
  return { bridge, sink, status, send, areCounted };
}

test('without a file descriptor that is left, it goes on, and says so', async (t) => {
  const { bridge, sink, status, send, areCounted } = await start(t);
  send();
  await areCounted();
  // The page listens, and is told regularly.
  const listening = await fetch(`http://${status}/events`);
  const reported = listening.body?.getReader();
  await reported?.read();
  const limit = (files: number): void => {
    const { status: code, stderr } = spawnSync('prlimit', [
      '--pid',
      `${bridge.pid}`,
      `--nofile=${files}:4096`,
    ]);
    assert.equal(code, 0, String(stderr));
  };
  limit(readdirSync(`/proc/${bridge.pid}/fd`).length - 1);
  // All three are read without a file: the messages, the exports, and the page.
  send();
  await areCounted();
  await reported?.read();
  assert.ok(bridge.alive(), bridge.log());
  // A new connection takes one.
  await sink.stop();
  await bridge.logged(/reached its limit of open files and connections: raise its limit/u);
  assert.doesNotMatch(bridge.log(), /internal error/u);
  limit(4096);
  await reported?.cancel();
});

/** Throws, each time that the process gets the signal, as if from that file. */
const THROWS = (file: string): string =>
  `data:text/javascript,${encodeURIComponent(`
    process.on('SIGUSR2', () => setImmediate(() => {
      const error = new TypeError('x is null');
      error.stack = 'TypeError: x is null\\n    at A.b (${file}:1:2)';
      throw error;
    }));`)}`;

test('an exception out of a transport ends the sessions and is a defect, and nothing is counted wrongly', async (t) => {
  const { bridge, sink, send, areCounted } = await start(t, [
    '--import',
    THROWS('/node_modules/ioredis/a.js'),
  ]);
  send();
  await areCounted();
  bridge.signal('SIGUSR2');
  await sink.waitFor(
    'celery-otel',
    (points) =>
      ownMetric(points, 'celery-otel', 'defects', { 'celery_otel.defect.where': 'transport' }) === 1 &&
      ownMetric(points, 'shop', 'broker.sessions') === 1 &&
      ownMetric(points, 'shop', 'broker.connections') === 2,
    DEADLINE_MS,
  );
  send();
  await areCounted();
  assert.ok(bridge.alive());
});

test('any other exception ends the process with 1, after the last export', async (t) => {
  const hook = ['--import', THROWS('/app/cluster/a.js')];
  const { bridge, sink, status, send } = await start(t, hook, 3_600_000);
  send();
  await until('it has arrived', async () =>
    /"received":1\b/u.test(await (await fetch(`http://${status}/status.json`)).text()),
  );
  bridge.signal('SIGUSR2');
  const { code } = await bridge.ended();
  assert.equal(code, 1);
  assert.match(
    bridge.log(),
    /unexpected error; the process exits after a last export: TypeError: x is null/u,
  );
  assert.match(bridge.log(), /stopped shop; everything counted was exported/u);
  assert.equal(total(sink.latest('shop'), 'celery.task.sent'), 1);
});
