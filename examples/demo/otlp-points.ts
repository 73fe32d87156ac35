/**
 * Decodes OTLP metrics requests with the official .proto files, independently of our exporter, and flattens them to points.
 * Pure but for loading those files; it knows nothing of Celery.
 */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import protobuf from 'protobufjs';

/** One data point with everything that identifies it. */
export interface Point {
  /** Resource attributes as strings. */
  readonly resource: Readonly<Record<string, string>>;
  readonly scope: string;
  readonly metric: string;
  readonly unit: string;
  readonly kind: 'gauge' | 'sum' | 'histogram' | 'exponentialHistogram';
  readonly temporality: 'cumulative' | 'delta' | 'none';
  readonly monotonic: boolean;
  readonly attributes: Readonly<Record<string, string>>;
  /** Value of a sum or gauge; number of measurements of a histogram of either kind. */
  readonly value: number;
  /** Of a histogram of either kind; 0 otherwise. */
  readonly sum: number;
  readonly bounds: readonly number[];
  readonly bucketCounts: readonly number[];
  readonly startMs: number;
  readonly timeMs: number;
}

const PROTO_ROOT = dirname(createRequire(import.meta.url).resolve('@elastic/mockotlpserver/package.json'));

function loadRequestType(): protobuf.Type {
  const root = new protobuf.Root();
  root.resolvePath = (_origin, target) => (target.startsWith(PROTO_ROOT) ? target : join(PROTO_ROOT, target));
  root.loadSync(join(PROTO_ROOT, 'opentelemetry/proto/collector/metrics/v1/metrics_service.proto'));
  return root.lookupType('opentelemetry.proto.collector.metrics.v1.ExportMetricsServiceRequest');
}

let requestType: protobuf.Type | undefined;

/** @throws if the bytes are not a metrics request */
export function decodePoints(request: Uint8Array): readonly Point[] {
  requestType ??= loadRequestType();
  const decoded: unknown = requestType.toObject(requestType.decode(request), {
    longs: Number,
    enums: String,
    defaults: true,
    oneofs: true,
  });
  return list(decoded, 'resourceMetrics').flatMap((resourceMetrics) => {
    const resource = attributes(get(resourceMetrics, 'resource'));
    return list(resourceMetrics, 'scopeMetrics').flatMap((scopeMetrics) =>
      list(scopeMetrics, 'metrics').flatMap((metric) =>
        metricPoints(metric, resource, text(get(scopeMetrics, 'scope'), 'name')),
      ),
    );
  });
}

/** The sum of a metric's points that have these attribute values. */
export function total(
  points: readonly Point[],
  metric: string,
  attributes: Readonly<Record<string, string>> = {},
): number {
  return points
    .filter((point) => point.metric === metric)
    .filter((point) => Object.entries(attributes).every(([key, value]) => point.attributes[key] === value))
    .reduce((sum, point) => sum + point.value, 0);
}

function metricPoints(metric: unknown, resource: Point['resource'], scope: string): readonly Point[] {
  const kind = (['sum', 'gauge', 'histogram', 'exponentialHistogram'] as const).find(
    (one) => one === text(metric, 'data'),
  );
  if (kind === undefined) throw new Error(`unexpected kind of metric: ${text(metric, 'data')}`);
  const data = get(metric, kind);
  const temporality = text(data, 'aggregationTemporality');
  // Without a recorded value a point only says that its series has ended.
  const recorded = list(data, 'dataPoints').filter((point) => (num(point, 'flags') & 1) === 0);
  return recorded.map((point) => ({
    resource,
    scope,
    metric: text(metric, 'name'),
    unit: text(metric, 'unit'),
    kind,
    temporality: temporality.endsWith('CUMULATIVE')
      ? 'cumulative'
      : temporality.endsWith('DELTA')
        ? 'delta'
        : 'none',
    monotonic: get(data, 'isMonotonic') === true,
    attributes: attributes(point),
    value: 'count' in Object(point) ? num(point, 'count') : num(point, text(point, 'value')),
    sum: num(point, 'sum'),
    bounds: numbers(point, 'explicitBounds'),
    bucketCounts: numbers(point, 'bucketCounts'),
    startMs: num(point, 'startTimeUnixNano') / 1e6,
    timeMs: num(point, 'timeUnixNano') / 1e6,
  }));
}

function attributes(holder: unknown): Readonly<Record<string, string>> {
  return Object.fromEntries(
    list(holder, 'attributes').map((pair) => {
      const value = get(pair, 'value');
      return [text(pair, 'key'), String(get(value, text(value, 'value')))];
    }),
  );
}

function get(holder: unknown, key: string): unknown {
  return typeof holder === 'object' && holder !== null ? Reflect.get(holder, key) : undefined;
}

function list(holder: unknown, key: string): readonly unknown[] {
  const value = get(holder, key);
  return Array.isArray(value) ? value : [];
}

function text(holder: unknown, key: string): string {
  const value = get(holder, key);
  return typeof value === 'string' ? value : '';
}

function num(holder: unknown, key: string): number {
  const value = get(holder, key);
  return typeof value === 'number' ? value : 0;
}

function numbers(holder: unknown, key: string): readonly number[] {
  return list(holder, key).map(Number);
}
