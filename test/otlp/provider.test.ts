import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { ServerCredentials, status } from '@grpc/grpc-js';
import { type Point, total } from '../../examples/demo/otlp-points.ts';
import { type Receiver, type ReceiverOptions, startReceiver } from '../../examples/demo/otlp-receiver.ts';
import type { ExportOutcome } from '../../src/otlp/observed-exporter.ts';
import type { OtlpSettings } from '../../src/otlp/otlp-settings.ts';
import { createProvider, type Provider } from '../../src/otlp/provider.ts';
import { serviceResource } from '../../src/otlp/resource.ts';
import { type Certificates, makeCertificates } from '../real/certificates.ts';
import { otlpSettings } from './settings.ts';

async function receiver(t: TestContext, options: ReceiverOptions = {}): Promise<Receiver> {
  const started = await startReceiver(options);
  t.after(() => started.stop());
  return started;
}

function provider(t: TestContext, settings: OtlpSettings): { provider: Provider; outcomes: ExportOutcome[] } {
  const outcomes: ExportOutcome[] = [];
  const created = createProvider(serviceResource('shop', { team: 'checkout' }), settings, (outcome) =>
    outcomes.push(outcome),
  );
  t.after(() => created.shutdown(100));
  return { provider: created, outcomes };
}

function certificates(t: TestContext): Certificates {
  const folder = mkdtempSync(join(tmpdir(), 'celery-otel-tls-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return makeCertificates(join(folder, 'tls'));
}

function count(of: Provider, amount: number): void {
  of.meter('celery-otel', '1.2.3')
    .createCounter('celery.task.sent', { unit: '{task}' })
    .add(amount, { queue: 'q' });
}

test('shutting down exports what was counted, under the resource, and says that it was flushed', async (t) => {
  const sink = await receiver(t);
  const { provider: shop, outcomes } = provider(t, otlpSettings(sink.url));
  count(shop, 5);
  assert.equal(await shop.shutdown(5000), true);
  const [point] = sink.latest('shop');
  assert.equal(point?.metric, 'celery.task.sent');
  assert.equal(point?.unit, '{task}');
  assert.equal(point?.scope, 'celery-otel');
  assert.equal(point?.value, 5);
  assert.equal(point?.monotonic, true);
  assert.equal(point?.temporality, 'cumulative');
  assert.equal(point?.resource['team'], 'checkout');
  assert.equal(point?.resource['telemetry.sdk.name'], 'opentelemetry');
  assert.equal(outcomes.length, 1, 'it flushes once');
  assert.equal(outcomes[0]?.outcome, 'success');
});

test('what was counted while the backend refused is in the first export that it takes', async (t) => {
  let refuse = true;
  const sink = await receiver(t, {
    refuse: () => (refuse ? { code: status.UNAVAILABLE, details: 'come back later' } : undefined),
  });
  const { provider: shop, outcomes } = provider(t, otlpSettings(sink.url, { exportIntervalMs: 50 }));
  count(shop, 3);
  while (outcomes.length < 2) await new Promise((resolve) => setTimeout(resolve, 10));
  assert.match(outcomes[0]?.reason ?? '', /come back later/u);
  count(shop, 4);
  refuse = false;
  const points = await sink.waitFor('shop', (latest) => latest.length > 0, 5000);
  assert.equal(total(points, 'celery.task.sent'), 7);
});

for (const compression of ['gzip', 'none'] as const) {
  test(`headers are sent, and a body with compression ${compression} is understood`, async (t) => {
    const metadata: Readonly<Record<string, string>>[] = [];
    const sink = await receiver(t, { onExport: (received) => metadata.push(received.metadata) });
    const { provider: shop } = provider(
      t,
      otlpSettings(sink.url, { compression, headers: { 'x-team-key': 's3cret' } }),
    );
    count(shop, 1);
    assert.equal(await shop.shutdown(5000), true);
    assert.equal(metadata[0]?.['x-team-key'], 's3cret');
  });
}

test('delta temporality is exported as such', async (t) => {
  const sink = await receiver(t);
  const { provider: shop } = provider(t, otlpSettings(sink.url, { temporality: 'delta' }));
  count(shop, 1);
  await shop.shutdown(5000);
  assert.equal(sink.latest('shop')[0]?.temporality, 'delta');
});

for (const temporality of ['cumulative', 'delta'] as const) {
  test(`a histogram recorded before the end is exported at the end (${temporality})`, async (t) => {
    const sink = await receiver(t);
    const { provider: shop } = provider(t, otlpSettings(sink.url, { temporality }));
    const beganMs = Date.now();
    const histogram = shop.meter('celery-otel', '1.2.3').createHistogram('celery.task.runtime', {
      unit: 's',
      advice: { explicitBucketBoundaries: [0.5, 1] },
    });
    for (const value of [0.25, 0.5, 8]) histogram.record(value, { queue: 'q' });
    count(shop, 1);
    assert.equal(await shop.shutdown(5000), true);
    const points = sink.latest('shop');
    assert.deepEqual(points.map(({ metric }) => metric).sort(), ['celery.task.runtime', 'celery.task.sent']);
    const point = points.find(({ metric }) => metric === 'celery.task.runtime');
    assert.equal(point?.kind, 'histogram');
    assert.equal(point?.unit, 's');
    assert.equal(point?.scope, 'celery-otel');
    assert.equal(point?.temporality, temporality);
    assert.equal(point?.resource['team'], 'checkout');
    assert.deepEqual(point?.attributes, { queue: 'q' });
    assert.equal(point?.value, 3);
    assert.equal(point?.sum, 8.75);
    assert.deepEqual(point?.bounds, [0.5, 1]);
    assert.deepEqual(point?.bucketCounts, [2, 0, 1]);
    // Times are whole nanoseconds on the wire, too many digits for a number: a millisecond may be lost in reading.
    assert.ok(point.startMs >= beganMs - 1 && point.timeMs >= point.startMs, `${point.startMs}`);
  });
}

test('after workers were retired, their news are exported once more and then nothing of them', async (t) => {
  const exports: (readonly Point[])[] = [];
  const sink = await receiver(t, { onExport: ({ points }) => exports.push(points) });
  const { provider: shop } = provider(t, otlpSettings(sink.url, { exportIntervalMs: 50 }));
  const meter = shop.meter('celery-otel', '1.2.3');
  const counter = meter.createCounter('celery.task.sent');
  const histogram = meter.createHistogram('celery.task.runtime', {
    advice: { explicitBucketBoundaries: [1] },
  });
  const measure = (...workers: readonly string[]) => {
    for (const worker of workers) {
      counter.add(1, { worker });
      histogram.record(1, { worker });
    }
  };
  const seriesOf = (points: readonly Point[]) =>
    points.map(({ metric, attributes: { worker } }) => `${metric} ${worker}`).sort();
  const all = ['w1', 'w2'].flatMap((worker) => [
    `celery.task.runtime ${worker}`,
    `celery.task.sent ${worker}`,
  ]);
  measure('w1', 'w2');
  shop.retire('worker', new Set(['w1', 'w3']));
  const after = await sink.waitFor('shop', (points) => points.length === 2, 5000);
  assert.deepEqual(exports.map(seriesOf).slice(0, 2), [all.sort(), seriesOf(after)]);
  assert.deepEqual(seriesOf(after), ['celery.task.runtime w2', 'celery.task.sent w2']);
  measure('w1');
  const back = await sink.waitFor('shop', (points) => points.length === 4, 5000);
  const started = (points: readonly Point[] | undefined) =>
    points?.find(({ metric, attributes: { worker } }) => `${metric} ${worker}` === 'celery.task.sent w1');
  assert.equal(started(back)?.value, 1);
  assert.ok((started(back)?.startMs ?? 0) > (started(exports[0])?.startMs ?? Infinity));
});

test('TLS with an authority of one’s own is verified, and without it refused', async (t) => {
  const { caFile, certFile, keyFile } = certificates(t);
  const pair = { private_key: readFileSync(keyFile), cert_chain: readFileSync(certFile) };
  const sink = await receiver(t, { credentials: ServerCredentials.createSsl(null, [pair]) });
  const url = `https://127.0.0.1:${sink.port}`;
  const trusting = provider(t, otlpSettings(url, { certificateFile: caFile }));
  count(trusting.provider, 1);
  assert.equal(await trusting.provider.shutdown(5000), true);
  const doubting = provider(t, otlpSettings(url, { timeoutMs: 1000 }));
  count(doubting.provider, 1);
  assert.equal(await doubting.provider.shutdown(5000), false);
  assert.equal(doubting.outcomes[0]?.outcome, 'failure');
  assert.equal(sink.exports(), 1);
});

test('a client certificate is shown where the backend demands one', async (t) => {
  const { caFile, certFile, keyFile } = certificates(t);
  const pair = { private_key: readFileSync(keyFile), cert_chain: readFileSync(certFile) };
  const sink = await receiver(t, {
    credentials: ServerCredentials.createSsl(readFileSync(caFile), [pair], true),
  });
  const tls = { certificateFile: caFile, clientCertificateFile: certFile, clientKeyFile: keyFile };
  const { provider: shop } = provider(t, otlpSettings(`https://127.0.0.1:${sink.port}`, tls));
  count(shop, 1);
  assert.equal(await shop.shutdown(5000), true);
  const stranger = provider(
    t,
    otlpSettings(`https://127.0.0.1:${sink.port}`, { certificateFile: caFile, timeoutMs: 1000 }),
  );
  count(stranger.provider, 1);
  assert.equal(await stranger.provider.shutdown(5000), false);
});

test('without a scheme, `insecure` decides about TLS', async (t) => {
  const sink = await receiver(t);
  const { provider: shop } = provider(t, otlpSettings(`127.0.0.1:${sink.port}`, { insecure: true }));
  count(shop, 1);
  assert.equal(await shop.shutdown(5000), true);
});

test('a backend that is gone, or that never answers, holds nothing up beyond the deadline', async (t) => {
  const sockets = new Set<Socket>();
  const silent = createServer((socket) => sockets.add(socket)).listen(0, '127.0.0.1');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    silent.close();
  });
  await new Promise((resolve) => silent.once('listening', resolve));
  const address = silent.address();
  assert.ok(typeof address === 'object' && address !== null);
  for (const url of ['http://127.0.0.1:1', `http://127.0.0.1:${address.port}`]) {
    const { provider: shop } = provider(t, otlpSettings(url, { timeoutMs: 30_000 }));
    count(shop, 1);
    const startedMs = performance.now();
    assert.equal(await shop.shutdown(500), false, url);
    assert.ok(performance.now() - startedMs < 1000, url);
  }
});
