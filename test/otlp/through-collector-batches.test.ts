/** What a real Collector reads of our spans and log records, in each protocol: what it writes into a file is compared. */

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { JsonLogsSerializer, JsonTraceSerializer } from '@opentelemetry/otlp-transformer';
import type { Resource } from '@opentelemetry/resources';
import { createBatchExport } from '../../src/otlp/batch-export.ts';
import { readableSpan } from '../../src/otlp/encode/readable-span.ts';
import { serviceResource } from '../../src/otlp/resource.ts';
import { ITEM_SIGNALS, type ItemSignal } from '../../src/otlp/signals.ts';
import { createYieldToLoop } from '../../src/timing/cooperative.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { skipWithoutOtelcol, startOtelcol } from '../real/otelcol.ts';
import { fc } from '../seed.ts';
import { logRecords, spans, usualLogRecord, usualSpan } from './encode/arbitrary-items.ts';
import { readableLogRecord } from './encode/readable-log-record.ts';
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
): Promise<unknown> {
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
  return inOne(requests.map((request) => JSON.parse(request)));
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

/** Without what the Collector leaves out: fields with their default values. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value)
    .map(([key, each]) => [key, key.endsWith('Value') ? numbered(key, each) : plain(each)] as const)
    .filter(([key, each]) => key.endsWith('Value') || !isDefault(each));
  return Object.fromEntries(fields);
}

function numbered(key: string, value: unknown): unknown {
  return key === 'intValue' || key === 'doubleValue' ? Number(value) : value;
}

function isDefault(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0;
  return value === 0 || value === '' || value === '0';
}

function expected<Item, Readable>(
  items: readonly Item[],
  readable: (item: Item, resource: Resource) => Readable,
  serialize: (all: Readable[]) => Uint8Array | undefined,
): unknown {
  const json = Buffer.from(serialize(items.map((item) => readable(item, SHOP))) ?? []).toString();
  // The SDK also writes the URL within the resource, where OTLP has no such field.
  return plain(
    JSON.parse(json, (key, value) => (key === 'resource' ? { attributes: value.attributes } : value)),
  );
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
    const made = [...Array.from({ length: 20 }, (_, index) => usualSpan(index)), ...sampled(spans)];
    const items = made.map((span) => ({ ...span, traceId: span.traceId.toLowerCase() }));
    assert.ok(items.length > 40);
    assert.deepEqual(
      lower(plain(await receivedOf(t, protocol, ITEM_SIGNALS.traces, items))),
      lower(expected(items, readableSpan, JsonTraceSerializer.serializeRequest)),
    );
  });

  test(`a Collector reads all that log records have (${protocol})`, { skip }, async (t) => {
    const items = [
      ...Array.from({ length: 20 }, (_, index) => usualLogRecord(index)),
      ...sampled(logRecords),
    ];
    assert.ok(items.length > 40);
    assert.deepEqual(
      lower(plain(await receivedOf(t, protocol, ITEM_SIGNALS.logs, items))),
      lower(expected(items, readableLogRecord, JsonLogsSerializer.serializeRequest)),
    );
  });
}

/** Ids in lower case, as the Collector writes them. */
function lower(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (key, each) =>
      /^(?:traceId|spanId|parentSpanId)$/u.test(key) && typeof each === 'string' ? each.toLowerCase() : each,
    ),
  );
}
