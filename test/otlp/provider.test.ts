import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { ServerCredentials, status } from '@grpc/grpc-js';
import { total } from '../../examples/demo/otlp-points.ts';
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
