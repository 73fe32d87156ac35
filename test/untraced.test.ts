/** A bridge in a program whose clients are instrumented: none of its own connections and requests becomes a span there. */
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { context, trace } from '@opentelemetry/api';
import { isTracingSuppressed } from '@opentelemetry/core';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { createBridge } from '../src/bridge/bridge.ts';
import { startHttpReceiver } from './otlp/send/http-receiver.ts';
import { listenOnLoopback } from './otlp/send/loopback-server.ts';
import { otlpSettings } from './otlp/settings.ts';
import { recordedService, run, serviceAt } from './service/recorded-service.ts';
import { until } from './until.ts';

/** When these are published, an instrumented client would begin its span. */
const CLIENTS = ['net.client.socket', 'http.client.request.start'] as const;

test('no connection and no request of a bridge is traced, or has a span of the program above it', async (t) => {
  const sdk = new NodeSDK({ metricReaders: [], spanProcessors: [], logRecordProcessors: [] });
  sdk.start();
  t.after(() => sdk.shutdown());
  const backend = await startHttpReceiver();
  t.after(() => backend.stop());
  let connections = 0;
  const broker = await listenOnLoopback(
    createServer((socket) => {
      connections += 1;
      socket.on('error', () => {}).destroy();
    }),
    {},
  );
  t.after(() => broker.stop());
  const begun: { client: string; isSuppressed: boolean; hasSpan: boolean }[] = [];
  const note = (_: unknown, client: string | symbol) => {
    const active = context.active();
    begun.push({
      client: String(client),
      isSuppressed: isTracingSuppressed(active),
      hasSpan: trace.getSpan(active) !== undefined,
    });
  };
  for (const client of CLIENTS) subscribe(client, note);
  t.after(() => CLIENTS.map((client) => unsubscribe(client, note)));

  const bridge = createBridge({
    services: [
      recordedService(t, 'shop', run('shop.pay', 'w1@shop')),
      serviceAt('mail', `redis://127.0.0.1:${broker.port}`),
      serviceAt('billing', `amqp://127.0.0.1:${broker.port}`),
    ],
    otlp: otlpSettings(`http://127.0.0.1:${backend.port}`, {
      exporter: { protocol: 'http/protobuf' },
      schedule: { intervalMs: 50 },
    }),
    self: { enabled: false, attributes: {} },
    report: () => {},
  });
  const tracer = trace.getTracer('program');
  tracer.startActiveSpan('main', (span) => {
    bridge.start();
    span.end();
  });
  // A retry of each broker, too.
  await until(
    'two exports and four connections',
    () => backend.requests.length >= 2 && connections >= 4,
    () => ({ exports: backend.requests.length, connections }),
  );
  const before = backend.requests.length;
  await tracer.startActiveSpan('stopping', async (span) => {
    await bridge.stop(5000);
    span.end();
  });

  assert.ok(backend.requests.length > before, 'it exports at the stop');
  const clients = Map.groupBy(begun, ({ client }) => client);
  assert.deepEqual(new Set(clients.keys()), new Set(CLIENTS));
  assert.deepEqual(
    begun.filter(({ isSuppressed, hasSpan }) => !isSuppressed || hasSpan),
    [],
  );
});
