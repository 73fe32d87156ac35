/**
 * Splits the collected metrics of one resource into requests that a backend accepts: limited in points, and below the
 * 4 MiB that gRPC servers accept by default. It sends nothing.
 */
import type { InstrumentationScope } from '@opentelemetry/core';
import type { Resource } from '@opentelemetry/resources';
import type { MetricData, ResourceMetrics, ScopeMetrics } from '@opentelemetry/sdk-metrics';
import type { CollectedMetric } from '../collect/collected-metric.ts';
import type { CollectedScope } from '../collect/scope-streams.ts';

export interface ExportRequest {
  readonly points: number;
  /** Built on each call, so that only the request being sent is in memory. */
  metrics(): ResourceMetrics;
  /** To be called once the request has arrived. */
  exported(): void;
  /** The same points in requests of at most `pointsMax` points. */
  parts(pointsMax: number): readonly ExportRequest[];
}

/** The points of a metric that go into one request. */
interface Piece {
  readonly scope: InstrumentationScope;
  readonly metric: CollectedMetric;
  readonly from: number;
  to: number;
}

/** Leaves room for what surrounds the points within 4 MiB (the Collector’s `max_recv_msg_size_mib`). */
const REQUEST_BYTES_MAX = 3.5 * 1024 * 1024;
/** Serialising more at once would block the event loop for longer than a few milliseconds. */
const REQUEST_POINTS_MAX = 1000;

export function exportRequests(
  resource: Resource,
  scopes: readonly CollectedScope[],
  pointsMax = REQUEST_POINTS_MAX,
): readonly ExportRequest[] {
  const all = scopes.flatMap(({ scope, metrics }) =>
    metrics.map((metric) => ({ scope, metric, from: 0, to: metric.points })),
  );
  return requestsOf(resource, all, Math.min(pointsMax, REQUEST_POINTS_MAX));
}

function requestsOf(resource: Resource, all: readonly Piece[], pointsMax: number): readonly ExportRequest[] {
  return cut(all, pointsMax).map((pieces) => ({
    points: pieces.reduce((points, { from, to }) => points + to - from, 0),
    metrics: () => ({ resource, scopeMetrics: scopeMetrics(pieces) }),
    exported() {
      for (const { metric, from, to } of pieces) metric.exported(from, to);
    },
    parts: (fewer) => requestsOf(resource, pieces, fewer),
  }));
}

function cut(all: readonly Piece[], pointsMax: number): readonly (readonly Piece[])[] {
  const requests: Piece[][] = [];
  let room = { points: 0, bytes: 0 };
  for (const { scope, metric, from, to } of all) {
    let piece: Piece | undefined;
    for (let point = from; point < to; point += 1) {
      const bytes = metric.bytesOf(point);
      if (room.points < 1 || room.bytes < bytes || requests.length === 0) {
        requests.push([]);
        room = { points: pointsMax, bytes: REQUEST_BYTES_MAX };
        piece = undefined;
      }
      if (piece === undefined) {
        piece = { scope, metric, from: point, to: point };
        requests.at(-1)?.push(piece);
      }
      piece.to = point + 1;
      room.points -= 1;
      room.bytes -= bytes;
    }
  }
  return requests;
}

/** Each scope once, in the order of the pieces. */
function scopeMetrics(pieces: readonly Piece[]): ScopeMetrics[] {
  const scopes = new Map<InstrumentationScope, MetricData[]>();
  for (const { scope, metric, from, to } of pieces) {
    const metrics = scopes.get(scope) ?? [];
    metrics.push(metric.slice(from, to));
    scopes.set(scope, metrics);
  }
  return Array.from(scopes, ([scope, metrics]) => ({ scope, metrics }));
}
