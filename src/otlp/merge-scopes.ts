/**
 * Puts together what several producers told under one instrumentation scope, as a receiver expects it. Pure, and it
 * changes no metric.
 */
import type { ResourceMetrics, ScopeMetrics } from '@opentelemetry/sdk-metrics';

/** The same resource with each scope once, in the order of their first mention. */
export function mergeScopes({ resource, scopeMetrics }: ResourceMetrics): ResourceMetrics {
  const merged = new Map<string, ScopeMetrics>();
  for (const { scope, metrics } of scopeMetrics) {
    const key = JSON.stringify([scope.name, scope.version ?? '', scope.schemaUrl ?? '']);
    const before = merged.get(key)?.metrics ?? [];
    merged.set(key, { scope, metrics: [...before, ...metrics] });
  }
  return { resource, scopeMetrics: [...merged.values()] };
}
