/** Records when the exports of each service were collected, to find missing ones. It forgets nothing. */
import type { Point } from '../../examples/demo/otlp-points.ts';

export interface ExportTimes {
  take(points: readonly Point[]): void;
  /** The number of exports of a service. */
  count(service: string): number;
  /**
   * The intervals between the exports of a service in a period, including its ends; by another clock, given as the time
   * it shows at an epoch time.
   */
  longestGapWithin(service: string, fromMs: number, toMs: number, clock: (atMs: number) => number): number;
}

export function exportTimes(): ExportTimes {
  const times = new Map<string, number[]>();
  return {
    take(points) {
      for (const { resource, timeMs } of points) {
        const service = resource['service.name'] ?? '';
        const known = times.get(service) ?? [];
        times.set(service, known);
        // All points of one export have one time, in however many requests they come.
        if (known.at(-1) !== timeMs) known.push(timeMs);
      }
    },
    count: (service) => times.get(service)?.length ?? 0,
    longestGapWithin(service, fromMs, toMs, clock) {
      const within = (times.get(service) ?? []).filter((timeMs) => timeMs > fromMs && timeMs < toMs);
      return longestGap([fromMs, ...within, toMs].map(clock));
    },
  };
}

function longestGap(times: readonly number[]): number {
  const gaps = times.slice(1).map((timeMs, index) => timeMs - (times[index] ?? Number.NaN));
  return Math.max(...gaps);
}
