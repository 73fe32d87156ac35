/** The events of successful tasks of one worker, and their expected counts. */
import type { EventCounts } from '../real/shop-report.ts';
import { type EventFields, event } from './publish.ts';

/** The worker of all of them, in any cluster: clusters are not distinguished by the names of workers. */
export const WORKER = 'celery@pod';

/** From `task-sent` to `task-succeeded`; the same numbers have the same ids, whatever the tasks are called. */
export function lives(name: string, from: number, to: number): readonly EventFields[] {
  return Array.from({ length: to - from }, (_, index) => {
    const uuid = `life-${from + index}`;
    const named = { uuid, name, queue: 'celery' };
    const common = { uuid, hostname: WORKER };
    return [
      event('task-sent', { ...named, hostname: 'gen1@pod' }),
      event('task-received', { ...named, hostname: WORKER }),
      event('task-started', common),
      event('task-succeeded', { ...common, runtime: 0.01, result: 'None' }),
    ];
  }).flat();
}

export function countsOf(lived: number): EventCounts {
  const ways = { sent: lived, received: lived, started: lived, succeeded: lived };
  return { ...ways, failed: {}, retried: {}, revoked: 0, rejected: 0 };
}
