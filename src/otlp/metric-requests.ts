/** Makes the export requests for the collected metrics of one resource. It does not split or send them itself. */
import type { InstrumentationScope } from '@opentelemetry/core';
import type { Resource } from '@opentelemetry/resources';
import type { DataPoint, MetricData, ScopeMetrics } from '@opentelemetry/sdk-metrics';
import type { Exemplar } from './aggregate/reservoir.ts';
import type { CollectedMetric } from './collect/collected-metric.ts';
import type { EndedPoint } from './collect/ended-series.ts';
import type { CollectedScope } from './collect/scope-streams.ts';
import type { RequestedMetrics } from './encode/metric-message.ts';
import { type Collected, type ExportRequest, exportRequests, type Piece } from './export/export-request.ts';

/** Upper bound for the name, unit and description of a metric. */
const METRIC_BYTES = 2048;

interface ScopedMetric extends Collected {
  readonly scope: InstrumentationScope;
  readonly metric: CollectedMetric;
}

export function metricRequests(
  resource: Resource,
  scopes: readonly CollectedScope[],
  pointsMax?: number,
): readonly ExportRequest<RequestedMetrics>[] {
  const all = scopes.flatMap(({ scope, metrics }) =>
    metrics.map((metric): ScopedMetric => ({ ...metric, items: metric.pointCount, scope, metric })),
  );
  const ends = scopes.flatMap(({ scope, ended = [] }) =>
    ended.map((point): ScopedEnd => endOf(scope, point)),
  );
  return [
    ...exportRequests(all, (pieces) => requested(resource, pieces), pointsMax),
    // Ends are in separate requests: a backend that refuses them must not refuse values with them.
    ...exportRequests(ends, (pieces) => endRequested(resource, pieces), pointsMax).map(
      (request) => ({ ...request, isOptional: true }) as const,
    ),
  ];
}

interface ScopedEnd extends Collected {
  readonly scope: InstrumentationScope;
  readonly metric: MetricData;
}

function endOf(scope: InstrumentationScope, { metric, bytes, arrived }: EndedPoint): ScopedEnd {
  return { items: 1, bytesOf: () => bytes + METRIC_BYTES, acknowledge: arrived, scope, metric };
}

function endRequested(resource: Resource, pieces: readonly Piece<ScopedEnd>[]): RequestedMetrics {
  const scopes = Map.groupBy(pieces, ({ of }) => of.scope);
  const scopeMetrics = Array.from(
    scopes,
    ([scope, ofScope]): ScopeMetrics => ({
      scope,
      metrics: ofScope.map(({ of }) => of.metric),
    }),
  );
  return { resource, scopeMetrics, haveEnded: true };
}

/** The data of a request, with each scope once, in the order of the pieces. */
function requested(resource: Resource, pieces: readonly Piece<ScopedMetric>[]): RequestedMetrics {
  const scopes = new Map<InstrumentationScope, MetricData[]>();
  const exemplars = new Map<DataPoint<unknown>, readonly Exemplar[]>();
  for (const { of, from, to } of pieces) {
    const metrics = scopes.get(of.scope) ?? [];
    const metric = of.metric.slice(from, to);
    metrics.push(metric);
    scopes.set(of.scope, metrics);
    const { exemplarsOf } = of.metric;
    if (exemplarsOf === undefined) continue;
    for (const [index, point] of metric.dataPoints.entries()) {
      const some = exemplarsOf(from + index);
      if (some.length > 0) exemplars.set(point, some);
    }
  }
  const scopeMetrics = Array.from(scopes, ([scope, metrics]): ScopeMetrics => ({ scope, metrics }));
  return { resource, scopeMetrics, ...(exemplars.size > 0 && { exemplars }) };
}
