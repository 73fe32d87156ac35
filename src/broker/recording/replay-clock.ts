/**
 * The clock of a replay: it starts with the first message, runs at the given speed, and never passes the arrival time of the
 * next message, so that no event seems to be late when the file is read slowly. It sets no timers.
 */
import { performance } from 'node:perf_hooks';

export class ReplayClock {
  readonly #speed: number;
  #first: { readonly atMs: number; readonly startedMs: number } | undefined;
  /** The arrival time of the latest known message, which may not be delivered yet; epoch ms. */
  #horizonMs = 0;

  /** @param speed a multiple of the recorded speed; with Infinity, the time is always the arrival time of the current message */
  constructor(speed: number) {
    this.#speed = speed;
  }

  /** Sets the arrival time of the next message. @returns how long to wait for it in real time, ms */
  startOrWaitMs(arrivedAtMs: number): number {
    this.#first ??= { atMs: arrivedAtMs, startedMs: performance.now() };
    this.#horizonMs = Math.max(this.#horizonMs, arrivedAtMs);
    return this.#speed === Number.POSITIVE_INFINITY ? 0 : (arrivedAtMs - this.#runningMs()) / this.#speed;
  }

  /** Epoch ms in the time of the recording; 0 before the first message. */
  now(): number {
    return Math.min(this.#runningMs(), this.#horizonMs);
  }

  /** No message follows: the clock stops. */
  stop(): void {
    this.#horizonMs = this.now();
  }

  #runningMs(): number {
    if (this.#first === undefined) return 0;
    if (this.#speed === Number.POSITIVE_INFINITY) return Number.POSITIVE_INFINITY;
    return this.#first.atMs + (performance.now() - this.#first.startedMs) * this.#speed;
  }
}
