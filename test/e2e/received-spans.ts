/**
 * A backend for traces: keeps the spans that arrive, decoded with the published definitions, and finds what is wrong with their
 * trees. It accepts every request, also those of other signals.
 */
import type { TestContext } from 'node:test';
import { decodeSpans } from '../otlp/encode/official-otlp.ts';
import { startGrpcReceiver } from '../otlp/send/grpc-receiver.ts';

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** '' for a root. */
  readonly parentSpanId: string;
  readonly name: string;
  readonly traceState: string;
  /** By key; numbers as text. */
  readonly attributes: Readonly<Record<string, string>>;
}

export interface SpanReceiver {
  /** For OTEL_EXPORTER_OTLP_TRACES_ENDPOINT. */
  readonly url: string;
  /** All so far. */
  spans(): readonly ReceivedSpan[];
}

const TRACES = '/opentelemetry.proto.collector.trace.v1.TraceService/Export';

export async function receiveSpans(t: TestContext): Promise<SpanReceiver> {
  const receiver = await startGrpcReceiver();
  t.after(() => receiver.stop());
  const spans: ReceivedSpan[] = [];
  let read = 0;
  return {
    url: `http://127.0.0.1:${receiver.port}`,
    spans() {
      for (const { path, body } of receiver.requests.slice(read))
        if (path === TRACES) spans.push(...spansOf(body));
      read = receiver.requests.length;
      return spans;
    },
  };
}

export function spansOf(body: Uint8Array): readonly ReceivedSpan[] {
  return listed(decodeSpans(body), 'resourceSpans')
    .flatMap((resource) => listed(resource, 'scopeSpans'))
    .flatMap((scope) => listed(scope, 'spans'))
    .map((span) => ({
      traceId: hex(get(span, 'traceId')),
      spanId: hex(get(span, 'spanId')),
      parentSpanId: hex(get(span, 'parentSpanId')),
      name: String(get(span, 'name')),
      traceState: String(get(span, 'traceState')),
      attributes: Object.fromEntries(listed(span, 'attributes').map(entryOf)),
    }));
}

/** Each flaw of the trees as a sentence: there must be one root in a trace, and each parent in the same one; no id comes twice. */
export function treeFlaws(spans: readonly ReceivedSpan[]): readonly string[] {
  const homes = new Map(spans.map(({ spanId, traceId }) => [spanId, traceId]));
  const traces = Map.groupBy(spans, ({ traceId }) => traceId);
  return [...traces].flatMap(([traceId, trace]) => {
    const roots = trace.filter(({ parentSpanId }) => parentSpanId === '');
    const ids = new Set(trace.map(({ spanId }) => spanId));
    return [
      ...(roots.length === 1 ? [] : [`${roots.length} roots in ${traceId}: ${namesOf(trace)}`]),
      ...(ids.size === trace.length ? [] : [`an id comes twice in ${traceId}: ${namesOf(trace)}`]),
      ...trace
        .filter(({ parentSpanId }) => parentSpanId !== '' && homes.get(parentSpanId) !== traceId)
        .map(({ name, parentSpanId }) => {
          const home = homes.get(parentSpanId);
          return `the parent of ${name} in ${traceId} is ${home === undefined ? 'missing' : `in ${home}`}`;
        }),
    ];
  });
}

/** How many process spans there are by task and outcome, without those of runs whose end Celery does not tell. */
export function endedRuns(spans: readonly ReceivedSpan[]): Readonly<Record<string, number>> {
  const ends = spans.flatMap(({ attributes }) => {
    const { 'celery.task.outcome': outcome, 'celery.task.name': task } = attributes;
    if (outcome === undefined || outcome === 'unknown' || outcome === 'replaced') return [];
    return [`${task} ${outcome}`];
  });
  return Object.fromEntries([...Map.groupBy(ends, (end) => end)].map(([end, same]) => [end, same.length]));
}

function namesOf(trace: readonly ReceivedSpan[]): string {
  return trace
    .map(({ name, attributes, spanId, parentSpanId }) => {
      const { 'celery.task.outcome': outcome = '', 'messaging.message.id': id = '' } = attributes;
      return `${name} ${id} (${outcome}) ${spanId} below ${parentSpanId || 'nothing'}`;
    })
    .join(', ');
}

function entryOf(entry: unknown): readonly [string, string] {
  const [value] = Object.values(Object(get(entry, 'value')));
  return [String(get(entry, 'key')), String(value)];
}

function get(holder: unknown, key: string): unknown {
  return typeof holder === 'object' && holder !== null ? Reflect.get(holder, key) : undefined;
}

function listed(holder: unknown, key: string): readonly unknown[] {
  const list = get(holder, key);
  return Array.isArray(list) ? list : [];
}

function hex(bytes: unknown): string {
  return Array.isArray(bytes) ? Buffer.from(bytes).toString('hex') : '';
}
