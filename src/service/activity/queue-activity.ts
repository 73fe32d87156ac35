/**
 * Waiting times of the tasks of one queue, its length and the age of its oldest task, for the last hour. Its size is
 * fixed.
 */
import { type HourReading, LastHour } from './last-hour.ts';
import { LogHistogram } from './log-histogram.ts';
import { Recent } from './recent.ts';

/** `waiting`: the number of tasks in the queue; `oldest`: how long the oldest of them has waited, in seconds. */
const SAMPLES = ['waiting', 'oldest'] as const;

type Sample = (typeof SAMPLES)[number];

/** Its quantiles are those of the waiting times, in seconds. */
export type QueueHourReading = HourReading<'started' | Sample>;

export class QueueActivity {
  readonly #waits = new Recent(() => new LogHistogram());
  readonly #hour = new LastHour({ counts: ['started'], samples: SAMPLES });

  /** @param waitTimeS seconds from sending to start; undefined if unknown */
  started(waitTimeS: number | undefined, nowMs: number): void {
    this.#hour.count('started', nowMs);
    if (waitTimeS === undefined) return;
    this.#waits.at(nowMs).add(waitTimeS);
    this.#hour.duration(waitTimeS, nowMs);
  }

  sample(name: Sample, value: number, nowMs: number): void {
    this.#hour.sample(name, value, nowMs);
  }

  /** The 95th percentile of the recent waiting times, in seconds; undefined if none was measured. */
  waitP95S(nowMs: number): number | undefined {
    return LogHistogram.quantile(this.#waits.read(nowMs), 0.95);
  }

  hour(nowMs: number): QueueHourReading | undefined {
    return this.#hour.read(nowMs);
  }
}
