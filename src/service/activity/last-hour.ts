/**
 * Counts, samples and durations of each minute of the last hour. Pure and of a fixed size: the time is an argument,
 * namely when messages arrived. What the counts mean is up to the caller.
 */
import { LogHistogram } from './log-histogram.ts';

export const MINUTE_MS = 60_000;
const MINUTES = 60;

/** The columns of each minute: counts begin at 0; samples and quantiles are NaN until there is a value. */
export interface Columns<Count extends string, Sample extends string> {
  readonly counts: readonly Count[];
  readonly samples: readonly Sample[];
}

/** The values of the last hour, oldest minute first; the last minute is still incomplete. */
export interface HourReading<Name extends string> {
  /** When the first minute began, epoch ms. */
  readonly sinceMs: number;
  /** One value per minute; NaN where none is known. All columns have the same length. */
  column(name: Name | Quantile): readonly number[];
}

export type Quantile = 'p50' | 'p95';

const QUANTILES = { p50: 0.5, p95: 0.95 } as const;

export class LastHour<Count extends string, Sample extends string = never> {
  readonly #counts: readonly Count[];
  readonly #names: readonly (Count | Sample | Quantile)[];
  /** One row per minute: the counts, the samples, the quantiles. */
  readonly #values: Float32Array;
  /** The durations of the current minute; made with the first duration. */
  #durations: LogHistogram | undefined;
  #isMeasured = false;
  /** The first minute with a value; undefined before it. `#minute` is the current one. */
  #first: number | undefined;
  #minute = 0;

  constructor({ counts, samples }: Columns<Count, Sample>) {
    this.#counts = counts;
    this.#names = [...counts, ...samples, 'p50', 'p95'];
    this.#values = new Float32Array(MINUTES * this.#names.length);
  }

  count(name: Count, nowMs: number): void {
    this.#reach(nowMs);
    const at = this.#at(this.#minute, name);
    this.#values[at] = (this.#values[at] ?? 0) + 1;
  }

  /** Subtracts one that was counted too early, from the latest minute whose count is above 0. */
  takeBack(name: Count, nowMs: number): void {
    this.#reach(nowMs);
    const first = Math.max(this.#first ?? 0, this.#minute - MINUTES + 1);
    for (let minute = this.#minute; minute >= first; minute -= 1) {
      const at = this.#at(minute, name);
      const count = this.#values[at] ?? 0;
      if (count <= 0) continue;
      this.#values[at] = count - 1;
      return;
    }
  }

  /** Sets the sample of the current minute; the last sample of a minute stays. */
  sample(name: Sample, value: number, nowMs: number): void {
    this.#reach(nowMs);
    this.#values[this.#at(this.#minute, name)] = value;
  }

  duration(seconds: number, nowMs: number): void {
    this.#reach(nowMs);
    this.#durations ??= new LogHistogram();
    this.#durations.add(seconds);
    this.#isMeasured = true;
  }

  /** Returns undefined before the first value. */
  read(nowMs: number): HourReading<Count | Sample> | undefined {
    if (this.#first === undefined) return undefined;
    this.#reach(nowMs);
    this.#summarize();
    const first = Math.max(this.#first, this.#minute - MINUTES + 1);
    const minutes = Array.from({ length: this.#minute - first + 1 }, (_, index) => first + index);
    return {
      sinceMs: first * MINUTE_MS,
      column: (name) => minutes.map((minute) => this.#values[this.#at(minute, name)] ?? Number.NaN),
    };
  }

  #at(minute: number, name: Count | Sample | Quantile): number {
    return (minute % MINUTES) * this.#names.length + this.#names.indexOf(name);
  }

  /** Begins the minute of this time; if the clock was set back by less than an hour, the current minute continues. */
  #reach(nowMs: number): void {
    const minute = Math.floor(nowMs / MINUTE_MS);
    if (this.#first === undefined || minute < this.#minute - MINUTES) {
      this.#durations?.clear();
      this.#isMeasured = false;
      this.#first = minute;
      this.#minute = minute;
      this.#blank(minute);
    }
    if (minute <= this.#minute) return;
    this.#summarize();
    this.#durations?.clear();
    this.#isMeasured = false;
    for (let next = Math.max(this.#minute + 1, minute - MINUTES + 1); next <= minute; next += 1)
      this.#blank(next);
    this.#minute = minute;
  }

  #blank(minute: number): void {
    const { length } = this.#names;
    const from = (minute % MINUTES) * length;
    this.#values.fill(0, from, from + this.#counts.length);
    this.#values.fill(Number.NaN, from + this.#counts.length, from + length);
  }

  /** Writes the quantiles of the current minute into its row. */
  #summarize(): void {
    if (this.#durations === undefined || !this.#isMeasured) return;
    for (const name of ['p50', 'p95'] as const)
      this.#values[this.#at(this.#minute, name)] =
        LogHistogram.quantile([this.#durations], QUANTILES[name]) ?? Number.NaN;
  }
}
