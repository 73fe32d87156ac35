/** Notes when the exports of each service were collected, to find those that are missing. It forgets nothing. */
import type { Point } from '../../examples/demo/otlp-points.ts';

export interface ExportTimes {
  take(points: readonly Point[]): void;
  /** How many exports of a service there were. */
  count(service: string): number;
  /** Between two exports of a service, one after the other; Infinity where there are no two. */
  longestGapMs(service: string): number;
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
    longestGapMs(service) {
      const own = times.get(service) ?? [];
      const gaps = own.slice(1).map((timeMs, index) => timeMs - (own[index] ?? Number.NaN));
      return gaps.length === 0 ? Infinity : Math.max(...gaps);
    },
  };
}
