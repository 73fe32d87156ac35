/** A batch export of spans under test, with what it tells, and what of it has arrived at a backend. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { EndedExport } from '../../src/otlp/backend.ts';
import { type BatchExport, createBatchExport } from '../../src/otlp/batch-export.ts';
import type { DropReason } from '../../src/otlp/export/drop-tally.ts';
import type { BatchSettings, ExporterSettings } from '../../src/otlp/otlp-settings.ts';
import { serviceResource } from '../../src/otlp/resource.ts';
import { ITEM_SIGNALS } from '../../src/otlp/signals.ts';
import { createYieldToLoop } from '../../src/timing/cooperative.ts';
import type { Span } from '../../src/tracer/span.ts';
import { until as untilSeen } from '../until.ts';
import { usualSpan } from './encode/arbitrary-items.ts';
import { decodeSpans } from './encode/official-otlp.ts';
import { exporterSettings, type Protocol } from './send/exporter-backends.ts';

export interface Batched extends BatchExport<Span> {
  readonly ended: readonly EndedExport[];
  /** Per service and reason. */
  readonly dropped: ReadonlyMap<string, number>;
  /** How often drops were told. */
  reported(): number;
  /** Adds so many spans to a service, each with an id of its own. */
  make(service: string, spans: number, span?: (index: number) => Span): void;
  droppedInAll(): number;
}

/** Closed at the end of the test. */
export function batched(
  t: TestContext,
  exporter: ExporterSettings,
  batch: Partial<BatchSettings> = {},
  random: () => number = () => 0,
): Batched {
  const ended: EndedExport[] = [];
  const dropped = new Map<string, number>();
  let reported = 0;
  const exported = createBatchExport(
    ITEM_SIGNALS.traces,
    exporter,
    { scheduleDelayMs: 50, exportTimeoutMs: 5000, maxQueueSize: 16_384, maxBatchSize: 512, ...batch },
    {
      onExport: (one) => ended.push(one),
      onDrop(name: string, reason: DropReason, items: number) {
        const key = `${name} ${reason}`;
        dropped.set(key, (dropped.get(key) ?? 0) + items);
        reported += 1;
      },
      onDefect: (reason) => assert.fail(String(reason)),
      random,
      yieldToLoop: createYieldToLoop(),
    },
  );
  t.after(() => exported.close(0));
  const services = new Map<string, ReturnType<typeof exported.open>>();
  let made = 0;
  return {
    ...exported,
    ended,
    dropped,
    reported: () => reported,
    make(service, spans, span = usualSpan) {
      const opened = services.get(service) ?? exported.open(service, serviceResource(service, {}));
      services.set(service, opened);
      for (let index = 0; index < spans; index += 1) {
        opened.add(span(made));
        made += 1;
      }
    },
    droppedInAll: () => [...dropped.values()].reduce((sum, each) => sum + each, 0),
  };
}

/** The span ids in a request, by service. */
export function spansIn(body: Buffer): ReadonlyMap<string, readonly string[]> {
  const request = decodeSpans(body, body[0] === '{'.charCodeAt(0) ? 'json' : 'protobuf');
  return new Map(
    list(request, 'resourceSpans').map((ofResource) => [
      serviceOf(get(ofResource, 'resource')),
      list(ofResource, 'scopeSpans')
        .flatMap((ofScope) => list(ofScope, 'spans'))
        .map((span) => Buffer.from(list(span, 'spanId').map(Number)).toString('hex')),
    ]),
  );
}

/** Of all these requests. @throws if one has arrived twice */
export function arrivedIn(requests: readonly { readonly body: Buffer }[]): ReadonlySet<string> {
  const ids = requests.flatMap(({ body }) => [...spansIn(body).values()].flat());
  const different = new Set(ids);
  assert.equal(ids.length, different.size, 'a span has arrived twice');
  return different;
}

function serviceOf(resource: unknown): string {
  const name = list(resource, 'attributes').find((attribute) => get(attribute, 'key') === 'service.name');
  return String(get(get(name, 'value'), 'stringValue'));
}

function get(holder: unknown, key: string): unknown {
  return typeof holder === 'object' && holder !== null ? Reflect.get(holder, key) : undefined;
}

function list(holder: unknown, key: string): readonly unknown[] {
  const value = get(holder, key);
  return Array.isArray(value) ? value : [];
}

/** To a backend on this machine. */
export function settingsFor(
  protocol: Protocol,
  port: number,
  more: Partial<ExporterSettings> = {},
): ExporterSettings {
  const path = protocol === 'grpc' ? '' : '/v1/traces';
  return exporterSettings(protocol, `http://127.0.0.1:${port}${path}`, more);
}

/** Waits for something that follows from what the batch export does. */
export async function until(happened: () => boolean, { held, ended, dropped }: Batched): Promise<void> {
  const seen = () => ({ held: held(), exports: ended.length, last: ended.at(-1), dropped });
  await untilSeen(String(happened), happened, seen);
}
