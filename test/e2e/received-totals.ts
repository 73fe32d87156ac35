/**
 * Adds up all exports like a backend: the newest value of each cumulative series from each start, or all deltas. It
 * forgets nothing, whatever has ended.
 */
import type { Point } from '../../examples/demo/otlp-points.ts';

export interface ReceivedTotals {
  take(points: readonly Point[]): void;
  /** Of a counter, or how many measurements of a histogram. */
  of(service: string, metric: string): number;
}

export function receivedTotals(): ReceivedTotals {
  /** Service and metric → life of a series → its value. */
  const metrics = new Map<string, Map<string, number>>();
  return {
    take(points) {
      for (const point of points) {
        if (point.temporality === 'none') continue;
        const name = `${point.resource['service.name']} ${point.metric}`;
        const lives = metrics.get(name) ?? new Map<string, number>();
        metrics.set(name, lives);
        const isDelta = point.temporality === 'delta';
        const life = isDelta ? '' : `${point.startMs} ${JSON.stringify(point.attributes)}`;
        lives.set(life, point.value + (isDelta ? (lives.get(life) ?? 0) : 0));
      }
    },
    of: (service, metric) =>
      [...(metrics.get(`${service} ${metric}`)?.values() ?? [])].reduce((sum, value) => sum + value, 0),
  };
}
