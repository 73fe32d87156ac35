/** The Collector’s configuration with the names of the conventions for messaging, between a replay and a Collector that is scraped. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { startBridge } from '../e2e/bridge-process.ts';
import { skipWithoutOtelcol, startOtelcol } from '../real/otelcol.ts';
import { until } from '../until.ts';
import { has, samplesIn, sumOf } from './exposition.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const SHOP = path.join(ROOT, 'examples/demo/shop.ndjson');
/** In the demo’s recording, as its own test counts them. */
const TOTALS = { sent: 749, received: 750, succeeded: 632 };

test('three metrics have the names and attributes of the conventions', {
  skip: skipWithoutOtelcol(),
}, async (t) => {
  const backend = await startOtelcol();
  t.after(() => backend.stop());
  const gateway = await startOtelcol({
    configText: readFileSync(path.join(ROOT, 'otel-config/messaging-conventions.yaml'), 'utf8'),
    env: {
      BACKEND_OTLP_ENDPOINT: `127.0.0.1:${backend.ports.otlpGrpc}`,
      BACKEND_OTLP_INSECURE: 'true',
      MESSAGING_SYSTEM: 'redis',
    },
  });
  t.after(() => gateway.stop());
  const bridge = startBridge(t, {
    CELERY_BROKER_URL: `recording:${SHOP}?speed=max`,
    OTEL_SERVICE_NAME: 'shop',
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${gateway.ports.otlpGrpc}`,
  });
  assert.equal((await bridge.ended()).code, 0);
  let text = '';
  await until('all is served', async () => {
    text = await backend.metricsText();
    return text.includes('celery_otel_up') && text.includes('celery_worker_info');
  });
  const samples = samplesIn(text);

  const ofSystem = { messaging_system: 'redis' };
  for (const [name, operation, total] of [
    ['messaging_client_sent_messages_total', 'send', TOTALS.sent],
    ['messaging_client_consumed_messages_total', 'receive', TOTALS.received],
  ] as const) {
    const labels = { ...ofSystem, __name__: name, messaging_operation_name: operation };
    assert.equal(sumOf(samples, labels), total, name);
    assert.equal(sumOf(samples, { __name__: name }), total, 'and no others');
  }
  const runs = samples.filter((sample) =>
    has(sample, {
      ...ofSystem,
      __name__: 'messaging_process_duration_seconds_count',
      messaging_operation_name: 'process',
    }),
  );
  const succeeded = runs.filter(({ labels }) => labels['error_type'] === undefined);
  assert.equal(sumOf(succeeded, {}), TOTALS.succeeded);
  assert.ok(runs.length > succeeded.length, 'failures have their error.type');
  assert.ok(
    samples.some((sample) =>
      has(sample, {
        messaging_destination_name: 'orders',
        celery_queue_name: 'orders',
        celery_task_name: 'shop.charge_card',
      }),
    ),
  );
  assert.ok(!text.includes('celery_task_sent_total'), 'they are renamed, not copied');
  assert.doesNotMatch(gateway.log(), /\t(?:warn|error)\t/u);
});
