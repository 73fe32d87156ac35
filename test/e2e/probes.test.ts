/** A pod’s life as its probes see it, with the real command. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { startBroker } from '../real/brokers.ts';
import { startRedis } from '../real/redis.ts';
import { until } from '../until.ts';
import { type BridgeProcess, startBridge } from './bridge-process.ts';
import { event, publish } from './publish.ts';

/** Blocks the event loop on SIGUSR2, until the file of UNBLOCKED exists. */
const BLOCKING = `data:text/javascript,import { existsSync } from 'node:fs';
  process.on('SIGUSR2', () => {
    const cell = new Int32Array(new SharedArrayBuffer(4));
    while (!existsSync(process.env.UNBLOCKED)) Atomics.wait(cell, 0, 0, 20);
  });`;
const PROBE_MS = 1000;

type Status = { readonly [key: string]: unknown } & { readonly summary: string };

/** What a kubelet and a person ask; undefined: there was no answer in time. */
function probesOf(bridge: BridgeProcess) {
  const url = /status at (http:\/\/[\d.:]+)\/status\.json/u.exec(bridge.log())?.[1] ?? '';
  const ask = (place: string, timeoutMs = DEADLINE_MS) =>
    fetch(url + place, { signal: AbortSignal.timeout(timeoutMs) });
  return {
    live: async (timeoutMs?: number) => (await ask('/livez', timeoutMs).catch(() => undefined))?.status,
    ready: async () => (await ask('/readyz')).status,
    text: async (place: string) => (await ask(place)).text(),
    async status(): Promise<Status> {
      return JSON.parse(await (await ask('/status.json')).text());
    },
  };
}

async function started(t: TestContext, env: Readonly<Record<string, string>>) {
  const bridge = startBridge(
    t,
    {
      OTEL_SERVICE_NAME: 'shop',
      OTEL_METRIC_EXPORT_INTERVAL: '200',
      OTEL_METRIC_EXPORT_TIMEOUT: '200',
      CELERY_OTEL_STATUS_ADDRESS: '0',
      ...env,
    },
    ['run'],
    ['--import', BLOCKING],
  );
  await bridge.logged(/status at http/u);
  return { bridge, ...probesOf(bridge) };
}

test('without a broker: live, not ready; with it: ready; without a backend: live, ready, and said; blocked: not live; stopped: in time', async (t) => {
  const redis = await startBroker('Redis');
  t.after(() => redis.remove());
  await redis.stop();
  const backend = await startReceiver();
  t.after(() => backend.stop());
  const folder = mkdtempSync(path.join(tmpdir(), 'celery-otel-probes-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const unblocked = path.join(folder, 'unblocked');
  const { bridge, live, ready, status, text } = await started(t, {
    UNBLOCKED: unblocked,
    CELERY_BROKER_URL: redis.url,
    OTEL_EXPORTER_OTLP_ENDPOINT: backend.url,
  });
  assert.deepEqual([await live(), await ready()], [200, 503]);
  await until('the broker is named', async () => /cannot be reached/u.test((await status()).summary));

  await redis.start();
  await until(
    'ready',
    async () => (await ready()) === 200,
    () => bridge.log(),
  );
  const online = Array.from({ length: 100 }, () =>
    event('worker-heartbeat', { active: 0, processed: 5, freq: 2 }),
  );
  await publish(redis.url, online);
  await until(
    'all is well, and the worker and its events are there',
    async () => {
      const { grade, summary, services } = await status();
      const text = JSON.stringify(services);
      return (
        grade === 'fine' &&
        /^Fine: 1 broker connected, 1 worker up, last export /u.test(summary) &&
        /"up":1/u.test(text) &&
        /"received":100/u.test(text)
      );
    },
    () => bridge.log(),
  );

  const [root, details] = await Promise.all(['/', '/services/0.json'].map((place) => text(place)));
  assert.match(root ?? '', /<title>celery-otel<\/title>/u);
  assert.match(details ?? '', /"workers":\{"total":1,"rows":\[\{"name":"[^"]+","up":true/u);

  await backend.stop();
  await until('the backend is named', async () => /is not available/u.test(JSON.stringify(await status())));
  assert.deepEqual([await live(), await ready()], [200, 200]);
  await redis.stop();
  await until('the broker is named again', async () =>
    /broke meanwhile|cannot be reached/u.test(JSON.stringify(await status())),
  );
  assert.deepEqual([await live(), await ready()], [200, 200], 'a restart would not bring it back');

  bridge.signal('SIGUSR2');
  await until('a probe gets no answer', async () => (await live(PROBE_MS)) === undefined);
  writeFileSync(unblocked, '');
  await until('it turns again', async () => (await live()) === 200);

  const begun = performance.now();
  bridge.signal('SIGTERM');
  assert.equal((await bridge.ended()).code, 0);
  t.diagnostic(`stopped after ${Math.round(performance.now() - begun)} ms`);
});

test('a wrong password is never ready; with status_ready=connected a broker that went away is not', async (t) => {
  const redis = await startRedis({ password: 'hunter2' });
  t.after(() => redis.stop());
  const as = (password: string) => redis.url.replace('redis://', `redis://:${password}@`);
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' };
  const [wrong, strict] = await Promise.all([
    started(t, { CELERY_BROKER_URL: as('wrong'), ...endpoint }),
    started(t, { CELERY_BROKER_URL: as('hunter2'), CELERY_OTEL_STATUS_READY: 'connected', ...endpoint }),
  ]);
  await until('the refusal is named', async () =>
    /refuses the connection/u.test((await wrong.status()).summary),
  );
  assert.deepEqual([await wrong.live(), await wrong.ready()], [200, 503]);
  assert.doesNotMatch(JSON.stringify(await wrong.status()), /hunter2|:wrong@/u);
  await until(
    'ready',
    async () => (await strict.ready()) === 200,
    () => strict.bridge.log(),
  );
  await redis.stop();
  await until('not ready', async () => (await strict.ready()) === 503);
  assert.equal(await strict.live(), 200);
});

test('an address that is taken ends the start, with the reason', async (t) => {
  const first = await started(t, {
    CELERY_BROKER_URL: 'redis://127.0.0.1:9/0',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9',
  });
  const taken = /http:\/\/(127\.0\.0\.1:\d+)\/status/u.exec(first.bridge.log())?.[1] ?? '';
  const second = startBridge(t, {
    CELERY_BROKER_URL: 'redis://127.0.0.1:9/0',
    OTEL_SERVICE_NAME: 'shop',
    CELERY_OTEL_STATUS_ADDRESS: taken,
  });
  const { code } = await second.ended();
  assert.equal(code, 1);
  assert.match(second.log(), /STATUS_UNAVAILABLE|status_address 127\.0\.0\.1:\d+: .*EADDRINUSE/u);
});
