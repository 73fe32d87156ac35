/**
 * Measures the cost of a span once it is made: encoding, beside that of the SDK in the same run, and the whole way from
 * the queue to a backend in another process. Exits with 1 if encoding takes more than a third of what the SDK takes, the whole
 * way more than three quarters of it, or a batch more than an event loop turn may.
 *
 *     node test/bench/span-sending.ts
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { ProtobufLogsSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import { createBatchExport } from '../../src/otlp/batch-export.ts';
import { readableSpan } from '../../src/otlp/encode/readable-span.ts';
import { serviceResource } from '../../src/otlp/resource.ts';
import { ITEM_SIGNALS } from '../../src/otlp/signals.ts';
import { createYieldToLoop } from '../../src/timing/cooperative.ts';
import type { Span } from '../../src/tracer/span.ts';
import { usualLogRecord, usualSpan } from '../otlp/encode/arbitrary-items.ts';
import { readableLogRecord } from '../otlp/encode/readable-log-record.ts';
import { exporterSettings, type Protocol } from '../otlp/send/exporter-backends.ts';

const BATCH = 512;
const BATCHES = 20;
/** After the first one, which warms up. */
const ROUNDS = 6;
const SDK_SHARE_MAX = 1 / 3;
const SENT_BATCHES = 150;
const WARM_UP_BATCHES = 50;
const WAY_SHARE_MAX = 0.75;
const TURN_MS_MAX = 10;
const SHOP = serviceResource('shop', {});

/** All ways in turn, so that other load on the machine affects all. @returns µs of the processor per item */
function compare<Item>(
  make: (index: number) => Item,
  ways: Readonly<Record<string, (all: Item[]) => unknown>>,
) {
  const spentUs = new Map<string, number>();
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const [name, encode] of Object.entries(ways)) {
      const batches = Array.from({ length: BATCHES }, () =>
        Array.from({ length: BATCH }, (_, index) => make(index)),
      );
      const before = process.threadCpuUsage();
      for (const batch of batches) encode(batch);
      const { user, system } = process.threadCpuUsage(before);
      if (round > 0) spentUs.set(name, (spentUs.get(name) ?? 0) + user + system);
    }
  }
  return (name: string): number => (spentUs.get(name) ?? Number.NaN) / (ROUNDS * BATCHES * BATCH);
}

/** @returns µs of the processor per span: of this thread, and of all, which compress and collect garbage */
async function wholeWay(protocol: Protocol, compression: 'gzip' | 'none', ports: Ports) {
  const endpoint =
    protocol === 'grpc' ? `http://127.0.0.1:${ports.grpc}` : `http://127.0.0.1:${ports.http}/v1/traces`;
  let arrival = Promise.withResolvers<void>();
  const exported = createBatchExport(
    ITEM_SIGNALS.traces,
    exporterSettings(protocol, endpoint, { compression }),
    { scheduleDelayMs: 1000, exportTimeoutMs: 5000, maxQueueSize: BATCH, maxBatchSize: BATCH },
    {
      onExport: ({ outcome, reason }) => {
        if (outcome !== 'success') throw new Error(reason);
        arrival.resolve();
      },
      onDrop: (_, reason, items) => {
        throw new Error(`${items} ${reason}`);
      },
      onDefect: (reason) => {
        throw reason;
      },
      random: () => 0,
      yieldToLoop: createYieldToLoop(),
    },
  );
  const shop = exported.open('shop', SHOP);
  exported.start();
  let [threadUs, allUs] = [0, 0];
  for (let batch = -WARM_UP_BATCHES; batch < SENT_BATCHES; batch += 1) {
    // Made outside of what is measured.
    const spans = Array.from({ length: BATCH }, (_, index): Span => usualSpan(index));
    const thread = process.threadCpuUsage();
    const all = process.cpuUsage();
    arrival = Promise.withResolvers();
    for (const span of spans) shop.add(span);
    await arrival.promise;
    if (batch < 0) continue;
    threadUs += sum(process.threadCpuUsage(thread)) / (SENT_BATCHES * BATCH);
    allUs += sum(process.cpuUsage(all)) / (SENT_BATCHES * BATCH);
  }
  await exported.close(5000);
  return { threadUs, allUs };
}

function sum({ user, system }: NodeJS.CpuUsage): number {
  return user + system;
}

interface Ports {
  readonly grpc: number;
  readonly http: number;
}

async function startSink() {
  const child = spawn(process.execPath, [fileURLToPath(new URL('./sink-process.ts', import.meta.url))], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [line] = await once(createInterface(child.stdout), 'line');
  const ports: Ports = JSON.parse(line);
  return { ports, stop: () => child.stdin.end() };
}

const { traces, logs } = ITEM_SIGNALS;
const spanUs = compare(usualSpan, {
  size: (items) =>
    items.reduce(
      (all, span) => all + traces.bytesOf(span) + traces.requestBytesOf(span, traces.bytesOf(span)),
      0,
    ),
  ours: (items) => traces.signal.encode.protobuf([{ resource: SHOP, items }]),
  sdk: (all) => ProtobufTraceSerializer.serializeRequest(all.map((span) => readableSpan(span, SHOP))),
  json: (items) => traces.signal.encode.json([{ resource: SHOP, items }]),
});
const logUs = compare((index) => usualLogRecord(index), {
  ours: (items) => logs.signal.encode.protobuf([{ resource: SHOP, items }]),
  sdk: (all) => ProtobufLogsSerializer.serializeRequest(all.map((log) => readableLogRecord(log, SHOP))),
  json: (items) => logs.signal.encode.json([{ resource: SHOP, items }]),
});

const shown = (us: number): string => `${us.toFixed(2)} µs`;
const bytes =
  traces.signal.encode.protobuf([{ resource: SHOP, items: [usualSpan(1), usualSpan(2)] }]).length / 2;
print(`a span: ${Math.round(bytes)} bytes; size ${shown(spanUs('size'))}; protobuf ${shown(spanUs('ours'))}`);
print(`the SDK’s protobuf ${shown(spanUs('sdk'))}; JSON ${shown(spanUs('json'))}`);
print(
  `a log record of 2 KB: protobuf ${shown(logUs('ours'))}; the SDK’s ${shown(logUs('sdk'))}; JSON ${shown(logUs('json'))}`,
);
let passed = true;
check('protobuf of a span beside the SDK’s', spanUs('ours') / spanUs('sdk'), SDK_SHARE_MAX);
check('protobuf of a log record beside the SDK’s', logUs('ours') / logUs('sdk'), SDK_SHARE_MAX);
check('ms for a batch of spans in JSON', (spanUs('json') * BATCH) / 1000, TURN_MS_MAX);
const sink = await startSink();
for (const protocol of ['grpc', 'http/protobuf', 'http/json'] as const) {
  for (const compression of ['none', 'gzip'] as const) {
    const { threadUs, allUs } = await wholeWay(protocol, compression, sink.ports);
    if (protocol === 'grpc' && compression === 'none')
      check(
        'the whole way of a span beside the SDK’s encoding alone',
        threadUs / spanUs('sdk'),
        WAY_SHARE_MAX,
      );
    print(
      `queued and sent, ${protocol}, ${compression}: ${shown(threadUs)} a span, ${shown(allUs)} with all threads`,
    );
  }
}
sink.stop();
process.exitCode = passed ? 0 : 1;

function check(what: string, value: number, max: number): void {
  print(`${what}: ${value.toFixed(2)}, at most ${max.toFixed(2)}`);
  passed &&= value <= max;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
