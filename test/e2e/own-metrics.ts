/** Reads the bridge’s own metrics about one of its services. */
import { type Point, total } from '../../examples/demo/otlp-points.ts';

/** @param metric without the `celery_otel.` that all of them begin with */
export function ownMetric(
  points: readonly Point[],
  service: string,
  metric: string,
  attributes: Readonly<Record<string, string>> = {},
): number {
  return total(points, `celery_otel.${metric}`, { 'celery_otel.service': service, ...attributes });
}
