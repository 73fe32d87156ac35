/**
 * What was counted and sampled in each minute of the last hour, and how long things took. Pure, of a fixed size: the time is an
 * argument, that of arrivals. It does not know what is counted.
 */
import { LogHistogram } from './log-histogram.ts';

export const MINUTE_MS = 60_000;
const MINUTES = 60;

/** What each minute has: counts begin at 0; samples and quantiles are NaN until there is one. */
export interface Columns<Count extends string, Sample extends string> {
  readonly counts: readonly Count[];
  readonly samples: readonly Sample[];
}

/** The oldest minute first; the last one is not over. */
export interface HourReading<Name extends string> {
  /** When the first minute began. */
  readonly sinceMs: number;
  /** As of now, and all of the same length; NaN where nothing is known. */
  column(name: Name | Quantile): readonly number[];
}

export type Quantile = 'p50' | 'p95';

const QUANTILES = { p50: 0.5, p95: 0.95 } as const;

export class LastHour<Count extends string, Sample extends string = never> {
  readonly #counts: readonly Count[];
  readonly #names: readonly (Count | Sample | Quantile)[];
  /** One row per minute. */
  readonly #values: Float32Array;
  /** Of the current minute; made with its first duration. */
  #durations: LogHistogram | undefined;
  #isMeasured = false;
  /** The first minute of all, and the current one; undefined before. */
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

  /** Takes one back that was counted too early: from the latest minute that has one. */
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

  /** The last sample of a minute stays. */
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

  /** Undefined before the first value. */
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

  /** Begins a new minute; a clock that was set back a little continues in the current one. */
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

  /** Writes the quantiles of the current minute. */
  #summarize(): void {
    if (this.#durations === undefined || !this.#isMeasured) return;
    for (const name of ['p50', 'p95'] as const)
      this.#values[this.#at(this.#minute, name)] =
        LogHistogram.quantile([this.#durations], QUANTILES[name]) ?? Number.NaN;
  }
}
