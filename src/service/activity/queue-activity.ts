/** How long tasks of one queue waited lately, and its length and the age of its oldest task, minute by minute. Its size is fixed. */
import { type HourReading, LastHour } from './last-hour.ts';
import { LogHistogram } from './log-histogram.ts';
import { Recent } from './recent.ts';

/** `oldest`: how long the oldest task has waited, s. */
const SAMPLES = ['waiting', 'oldest'] as const;

type Sample = (typeof SAMPLES)[number];

/** Its quantiles are those of the waiting times, s. */
export type QueueHourReading = HourReading<'started' | Sample>;

export class QueueActivity {
  readonly #waits = new Recent(() => new LogHistogram());
  readonly #hour = new LastHour({ counts: ['started'], samples: SAMPLES });

  /** @param waitTimeS from the sending to the start; undefined if unknown */
  started(waitTimeS: number | undefined, nowMs: number): void {
    this.#hour.count('started', nowMs);
    if (waitTimeS === undefined) return;
    this.#waits.at(nowMs).add(waitTimeS);
    this.#hour.duration(waitTimeS, nowMs);
  }

  sample(name: Sample, value: number, nowMs: number): void {
    this.#hour.sample(name, value, nowMs);
  }

  /** In seconds, lately; undefined if none started. */
  waitP95S(nowMs: number): number | undefined {
    return LogHistogram.quantile(this.#waits.read(nowMs), 0.95);
  }

  hour(nowMs: number): QueueHourReading | undefined {
    return this.#hour.read(nowMs);
  }
}
