/** A bridge that polls the queues of a broker often, and what it exports of them. */
import type { TestContext } from 'node:test';
import type { Point } from '../../examples/demo/otlp-points.ts';
import { watch } from './shop.ts';

export const POLL_S = 0.5;

export async function startBrokerPolls(
  t: TestContext,
  broker: string,
  more: Readonly<Record<string, string>> = {},
) {
  const exports: (readonly Point[])[] = [];
  const options = {
    CELERY_TASK_DEFAULT_QUEUE: 'orders',
    CELERY_OTEL_COLLECTION_INTERVAL: String(POLL_S),
    OTEL_METRIC_EXPORT_INTERVAL: '250',
    ...more,
  };
  const watching = await watch(t, broker, options, {
    onExport({ points }) {
      exports.push(points.filter(({ resource }) => resource['service.name'] === 'shop'));
    },
  });
  return { ...watching, exports };
}

/** The value of a gauge; undefined if it has no point. */
export function gauge(points: readonly Point[], metric: string, queue?: string): number | undefined {
  return points.find(
    (point) =>
      point.metric === metric && (queue === undefined || point.attributes['celery.queue.name'] === queue),
  )?.value;
}

/** When the lengths of queues were polled, epoch milliseconds, and how many points tell of them. */
export function pollsIn(exports: readonly (readonly Point[])[]): {
  readonly polls: readonly number[];
  readonly points: number;
} {
  const lengths = exports.flat().filter(({ metric }) => metric === 'celery.queue.length');
  const times = lengths.map(({ timeMs }) => timeMs);
  // Of one poll they are equal but for the rounding of a millisecond.
  const polls = times.filter((timeMs, index) => index === 0 || timeMs - (times[index - 1] ?? 0) > 500);
  return { polls, points: times.length };
}
