/** Makes requests of the collected metrics of one resource. How they are split and sent is the same for all signals. */
import type { InstrumentationScope } from '@opentelemetry/core';
import type { Resource } from '@opentelemetry/resources';
import type { MetricData, ResourceMetrics, ScopeMetrics } from '@opentelemetry/sdk-metrics';
import type { CollectedMetric } from './collect/collected-metric.ts';
import type { CollectedScope } from './collect/scope-streams.ts';
import { type Collected, type ExportRequest, exportRequests, type Piece } from './export/export-request.ts';

interface ScopedMetric extends Collected {
  readonly scope: InstrumentationScope;
  readonly metric: CollectedMetric;
}

export function metricRequests(
  resource: Resource,
  scopes: readonly CollectedScope[],
  pointsMax?: number,
): readonly ExportRequest<ResourceMetrics>[] {
  const all = scopes.flatMap(({ scope, metrics }) =>
    metrics.map((metric): ScopedMetric => ({ ...metric, items: metric.points, scope, metric })),
  );
  return exportRequests(all, (pieces) => ({ resource, scopeMetrics: scopeMetrics(pieces) }), pointsMax);
}

/** Each scope once, in the order of the pieces. */
function scopeMetrics(pieces: readonly Piece<ScopedMetric>[]): ScopeMetrics[] {
  const scopes = new Map<InstrumentationScope, MetricData[]>();
  for (const { of, from, to } of pieces) {
    const metrics = scopes.get(of.scope) ?? [];
    metrics.push(of.metric.slice(from, to));
    scopes.set(of.scope, metrics);
  }
  return Array.from(scopes, ([scope, metrics]) => ({ scope, metrics }));
}
