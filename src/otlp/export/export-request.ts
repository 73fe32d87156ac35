/**
 * Cuts what was collected of one resource into requests that a backend takes: of so many points, and below the 4 MiB that a
 * gRPC server accepts. It sends nothing.
 */
import type { InstrumentationScope } from '@opentelemetry/core';
import type { Resource } from '@opentelemetry/resources';
import type { MetricData, ResourceMetrics, ScopeMetrics } from '@opentelemetry/sdk-metrics';
import type { CollectedMetric } from '../collect/collected-metric.ts';
import type { CollectedScope } from '../collect/scope-streams.ts';

export interface ExportRequest {
  readonly points: number;
  /** Built when it is sent: only one of them is in memory as a whole. */
  metrics(): ResourceMetrics;
  /** It has arrived. */
  exported(): void;
  /** The same points in requests of so many at most. */
  parts(pointsMax: number): readonly ExportRequest[];
}

/** What of a metric goes into one request. */
interface Piece {
  readonly scope: InstrumentationScope;
  readonly metric: CollectedMetric;
  readonly from: number;
  to: number;
}

/** Less than the 4 MiB of most servers (`max_recv_msg_size_mib` of the Collector), for what is around the points. */
const REQUEST_BYTES_MAX = 3.5 * 1024 * 1024;
/** Serialising more at once would hold up everything else for longer than a few milliseconds. */
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
