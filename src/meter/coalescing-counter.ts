/**
 * Wraps a counter of another provider: adds up amounts, and flushes the sums once per collection, because `add()` of an SDK
 * may cost more than decoding an event. The number of unflushed series is bounded. Our own counters (`bindable.ts`) do not
 * need this, and their series would get late start times.
 */
import type { Attributes, Counter } from '@opentelemetry/api';
import type { CounterSeries } from './bindable.ts';

export type CoalescingCounter = ReturnType<typeof createCoalescingCounter>;

/** If more series wait, some are flushed early, which costs time but loses nothing. */
const WAITING_MAX = 10_000;
/** How many series are flushed early: few enough to be fast, and enough for this to be rare. */
const HANDED_OVER_EARLY = 500;

export function createCoalescingCounter(counter: Counter) {
  const waiting: Sum[] = [];

  /**
   * Flushes the series that have waited longest.
   * @param max number of series; by default, all
   */
  function flush(max = waiting.length): void {
    for (const sum of waiting.splice(0, max)) sum.handOver(counter);
  }

  function wait(sum: Sum): void {
    if (waiting.length >= WAITING_MAX) flush(HANDED_OVER_EARLY);
    waiting.push(sum);
  }

  return {
    add: (amount: number, attributes?: Attributes) => counter.add(amount, attributes),
    bind: (attributes: Attributes) => new Sum(attributes, wait),
    /** Number of series that wait for a flush. */
    get waiting() {
      return waiting.length;
    },
    flush,
  };
}

class Sum implements CounterSeries {
  readonly #attributes: Attributes;
  readonly #wait: (sum: Sum) => void;
  #sum = 0;
  #isWaiting = false;

  constructor(attributes: Attributes, wait: (sum: Sum) => void) {
    this.#attributes = attributes;
    this.#wait = wait;
  }

  /** Also for 0, which creates the point of a series. */
  add(amount: number): void {
    if (!this.#isWaiting) {
      this.#wait(this);
      this.#isWaiting = true;
    }
    this.#sum += amount;
  }

  handOver(counter: Counter): void {
    counter.add(this.#sum, this.#attributes);
    this.#sum = 0;
    this.#isWaiting = false;
  }
}
