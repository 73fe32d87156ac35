/** Makes the rows of the queues of one service from data of events, the broker and the workers. Pure. */
import type { ClusterView } from '../cluster/observation.ts';
import { printable } from '../text/printable.ts';
import { safeKey } from '../text/safe-key.ts';
import { rounded, seconds } from './document-values.ts';

export interface QueueRow {
  readonly name: string;
  /** Messages ready to be consumed; null if the broker did not report it. */
  readonly length: number | null;
  /** The consumers that the broker reports, otherwise the workers that report consuming the queue. */
  readonly consumers: number | null;
  /** How many tasks these workers can run at the same time. */
  readonly slots: number | null;
  /** Messages that were delivered to workers and are not acknowledged. */
  readonly unacked: number | null;
  readonly waiting_age_s: number | null;
  readonly running_age_s: number | null;
  readonly wait_p95_s: number | null;
}

type Draft = { -readonly [Key in keyof QueueRow]: QueueRow[Key] };

/** The longest queues first. */
export function queueRows(
  { queues, reported, broker }: ClusterView,
  waitP95S: (queue: string) => number | undefined,
): readonly QueueRow[] {
  const rows = new Map<string, Draft>();
  const rowOf = (queue: string): Draft => {
    const key = safeKey(queue);
    const row = rows.get(key) ?? draft(queue, waitP95S(queue));
    rows.set(key, row);
    return row;
  };
  for (const { queue, workers, processes } of reported?.consumers ?? []) {
    const row = rowOf(queue);
    row.consumers = workers;
    row.slots = processes ?? null;
  }
  for (const { queue, length, consumers, isParked } of broker?.queues ?? []) {
    const row = rowOf(queue);
    row.length = length;
    // That nothing consumes it is as it should be, and no warning.
    row.consumers = isParked ? null : (consumers ?? row.consumers);
  }
  for (const [queue, count] of broker?.unacked?.byQueue ?? []) rowOf(queue).unacked = count;
  for (const { queue, waitingAgeS, runningAgeS } of queues) {
    const row = rowOf(queue);
    row.waiting_age_s = seconds(waitingAgeS * 1000);
    row.running_age_s = seconds(runningAgeS * 1000);
  }
  return [...rows.values()].sort(
    (one, other) =>
      (other.length ?? 0) - (one.length ?? 0) || (other.waiting_age_s ?? 0) - (one.waiting_age_s ?? 0),
  );
}

function draft(queue: string, waitP95S: number | undefined): Draft {
  return {
    name: printable(queue),
    length: null,
    consumers: null,
    slots: null,
    unacked: null,
    waiting_age_s: null,
    running_age_s: null,
    wait_p95_s: rounded(waitP95S),
  };
}
