/** A backend that takes all three signals, and what it was sent, as the published definitions of OTLP have it. */
import { createNewestPoints } from '../../examples/demo/newest-points.ts';
import { decodePoints, type Point } from '../../examples/demo/otlp-points.ts';
import { decodeLogRecords, decodeSpans } from '../otlp/encode/official-otlp.ts';
import { startGrpcReceiver } from '../otlp/send/grpc-receiver.ts';

/** The gRPC methods of the signals. */
const METHODS = {
  metrics: '/opentelemetry.proto.collector.metrics.v1.MetricsService/Export',
  traces: '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
  logs: '/opentelemetry.proto.collector.logs.v1.LogsService/Export',
} as const;

interface ReceivedItem {
  /** `service.name` of its resource. */
  readonly service: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly attributes: ReadonlyMap<string, string>;
}

export interface ReceivedSpan extends ReceivedItem {
  readonly name: string;
  /** '' if it has none. */
  readonly parentSpanId: string;
  /** Span ids. */
  readonly links: readonly string[];
}

export interface ReceivedRecord extends ReceivedItem {
  readonly eventName: string;
}

export async function startBackend() {
  const receiver = await startGrpcReceiver();
  const bodies = (signal: keyof typeof METHODS) =>
    receiver.requests.filter(({ path }) => path === METHODS[signal]).map(({ body }) => body);
  return {
    url: `http://127.0.0.1:${receiver.port}`,
    spans: () => bodies('traces').flatMap(spansIn),
    records: () => bodies('logs').flatMap(recordsIn),
    /** All points that were ever exported. */
    allPoints: () => bodies('metrics').flatMap((body) => decodePoints(body)),
    /** Those of the newest export of the service. */
    points(service: string): readonly Point[] {
      const newest = createNewestPoints();
      for (const body of bodies('metrics')) newest.take(decodePoints(body), body.length);
      return newest.of(service);
    },
    stop: () => receiver.stop(),
  };
}

/** @param body of a request */
export function spansIn(body: Uint8Array): readonly ReceivedSpan[] {
  return itemsIn(decodeSpans(body), 'resourceSpans', 'scopeSpans', 'spans').map(({ item, service }) => ({
    ...common(item, service),
    name: String(get(item, 'name')),
    parentSpanId: idOf(get(item, 'parentSpanId')),
    links: list(item, 'links').map((link) => idOf(get(link, 'spanId'))),
  }));
}

/** @param body of a request */
function recordsIn(body: Uint8Array): readonly ReceivedRecord[] {
  return itemsIn(decodeLogRecords(body), 'resourceLogs', 'scopeLogs', 'logRecords').map(
    ({ item, service }) => ({
      ...common(item, service),
      eventName: String(get(item, 'eventName')),
    }),
  );
}

function itemsIn(request: unknown, ofResources: string, ofScopes: string, items: string) {
  return list(request, ofResources).flatMap((ofResource) => {
    const service = attributesOf(get(ofResource, 'resource')).get('service.name') ?? '';
    return list(ofResource, ofScopes)
      .flatMap((ofScope) => list(ofScope, items))
      .map((item) => ({ item, service }));
  });
}

function common(item: unknown, service: string): ReceivedItem {
  const [traceId, spanId] = [idOf(get(item, 'traceId')), idOf(get(item, 'spanId'))];
  return { service, traceId, spanId, attributes: attributesOf(item) };
}

/** As texts. */
function attributesOf(holder: unknown): ReadonlyMap<string, string> {
  return new Map(
    list(holder, 'attributes').map((attribute) => {
      const value = get(attribute, 'value');
      return [String(get(attribute, 'key')), String(get(value, String(get(value, 'value'))))];
    }),
  );
}

function idOf(value: unknown): string {
  return Buffer.from(Array.isArray(value) ? value : []).toString('hex');
}

function get(holder: unknown, key: string): unknown {
  return typeof holder === 'object' && holder !== null ? Reflect.get(holder, key) : undefined;
}

function list(holder: unknown, key: string): readonly unknown[] {
  const value = get(holder, key);
  return Array.isArray(value) ? value : [];
}
