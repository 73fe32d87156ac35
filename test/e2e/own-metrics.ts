/** Reads what the bridge tells of one of its services in metrics of its own. */
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
