/** What a real Collector reads of our spans and log records, in each protocol: what it writes into a file is compared. */

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createBatchExport } from '../../src/otlp/batch-export.ts';
import { serviceResource } from '../../src/otlp/resource.ts';
import { ITEM_SIGNALS, type ItemSignal, SIGNALS } from '../../src/otlp/signals.ts';
import { createYieldToLoop } from '../../src/timing/cooperative.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { skipWithoutOtelcol, startOtelcol } from '../real/otelcol.ts';
import { fc } from '../seed.ts';
import { logRecords, spans, usualLogRecord, usualSpan } from './encode/arbitrary-items.ts';
import { decodeLogRecords, decodeSpans } from './encode/official-otlp.ts';
import { exporterSettings, type Protocol } from './send/exporter-backends.ts';

const TO_FILE = `
receivers:
  otlp:
    protocols:
      grpc: { endpoint: "\${env:OTLP_GRPC_ENDPOINT}" }
      http: { endpoint: "\${env:OTLP_HTTP_ENDPOINT}" }
exporters: { file: { path: "\${env:RECEIVED}", flush_interval: 100ms } }
service:
  pipelines: { SIGNAL: { receivers: [otlp], exporters: [file] } }
  telemetry: { metrics: { level: none } }
`;
const SHOP = serviceResource('shop', { team: 'checkout' });

async function receivedOf<Item>(
  t: TestContext,
  protocol: Protocol,
  kind: ItemSignal<Item>,
  items: readonly Item[],
): Promise<Uint8Array> {
  const folder = mkdtempSync(join(tmpdir(), 'celery-otel-batches-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'received.json');
  const collector = await startOtelcol({
    configText: TO_FILE.replace('SIGNAL', kind.signal.name),
    env: { RECEIVED: file },
  });
  t.after(() => collector.stop());
  const endpoint =
    protocol === 'grpc'
      ? `http://127.0.0.1:${collector.ports.otlpGrpc}`
      : `http://127.0.0.1:${collector.ports.otlpHttp}${kind.signal.httpPath}`;
  const exported = createBatchExport(
    kind,
    exporterSettings(protocol, endpoint, { compression: 'gzip' }),
    { scheduleDelayMs: 1000, exportTimeoutMs: DEADLINE_MS, maxQueueSize: 1000, maxBatchSize: 512 },
    {
      onExport: ({ outcome, reason }) => assert.equal(outcome, 'success', reason),
      onDrop: (_, reason, count) => assert.fail(`${count} ${reason}`),
      onDefect: (reason) => assert.fail(String(reason)),
      random: () => 0,
      yieldToLoop: createYieldToLoop(),
    },
  );
  const shop = exported.open('shop', SHOP);
  for (const item of items) shop.add(item);
  assert.deepEqual(await exported.close(DEADLINE_MS), new Set());
  await collector.stop();
  const requests = readFileSync(file, 'utf8').trimEnd().split('\n');
  return Buffer.from(JSON.stringify(inOne(requests.map((request) => JSON.parse(request)))));
}

/** Large items are sent in several requests, which differ in the last list only. */
function inOne(requests: readonly unknown[]): unknown {
  const [first = assert.fail('nothing has arrived'), ...more] = requests;
  const all = lastList(first);
  for (const request of more) all.push(...lastList(request));
  return first;
}

/** The list at the end of the path through the only element of each list. */
function lastList(holder: unknown): unknown[] {
  for (const name of ['resourceSpans', 'scopeSpans', 'resourceLogs', 'scopeLogs', 'spans', 'logRecords']) {
    const value: unknown =
      typeof holder === 'object' && holder !== null ? Reflect.get(holder, name) : undefined;
    if (!Array.isArray(value)) continue;
    return name === 'spans' || name === 'logRecords' ? value : lastList(value[0]);
  }
  return assert.fail('no list');
}

/** JSON has no such numbers and no such characters. Times are texts in it. */
function isInJson(item: object): boolean {
  const text = JSON.stringify(item, (key, value) => {
    if (key.endsWith('Ms') || typeof value !== 'number') return value;
    const isOdd = !Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value));
    return isOdd ? '\ud800' : value;
  });
  return !/\\ud[89a-f]/iu.test(text);
}

const sampled = <Item extends object>(arbitrary: fc.Arbitrary<Item>): readonly Item[] =>
  fc.sample(arbitrary, { numRuns: 100 }).filter(isInJson);

for (const protocol of ['grpc', 'http/protobuf', 'http/json'] as const) {
  const skip = skipWithoutOtelcol();

  test(`a Collector reads all that spans have (${protocol})`, { skip }, async (t) => {
    const items = [...Array.from({ length: 20 }, (_, index) => usualSpan(index)), ...sampled(spans)];
    assert.ok(items.length > 40);
    assert.deepEqual(
      decodeSpans(await receivedOf(t, protocol, ITEM_SIGNALS.traces, items), 'json'),
      decodeSpans(SIGNALS.traces.encode.protobuf([{ resource: SHOP, items }])),
    );
  });

  test(`a Collector reads all that log records have (${protocol})`, { skip }, async (t) => {
    const items = [
      ...Array.from({ length: 20 }, (_, index) => usualLogRecord(index)),
      ...sampled(logRecords),
    ];
    assert.ok(items.length > 40);
    assert.deepEqual(
      decodeLogRecords(await receivedOf(t, protocol, ITEM_SIGNALS.logs, items), 'json'),
      decodeLogRecords(SIGNALS.logs.encode.protobuf([{ resource: SHOP, items }])),
    );
  });
}
