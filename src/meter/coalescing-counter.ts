/**
 * A counter of somebody else’s provider. What is added to its bound series is added up here and handed over once per
 * collection: an `add()` of its SDK may cost more than decoding an event does. It holds only what was added since the last
 * hand-over, within a bound. Our own counters need none of this (`bindable.ts`): what is handed over late seems to have
 * begun late.
 */
import type { Attributes, Counter } from '@opentelemetry/api';
import type { BindableCounter, CounterSeries } from './bindable.ts';

export interface CoalescingCounter extends BindableCounter {
  /** Series that wait to be handed over. */
  readonly waiting: number;
  /**
   * Hands over what has waited for longest.
   * @param max series at most; by default, all
   */
  flush(max?: number): void;
}

/** Between two collections; more are handed over early, which costs time but loses nothing. */
const WAITING_MAX = 10_000;
/** Then: few enough not to be noticed, and so many that it is seldom. */
const HANDED_OVER_EARLY = 500;

export function createCoalescingCounter(counter: Counter): CoalescingCounter {
  const waiting: Sum[] = [];

  function flush(max = waiting.length): void {
    for (const sum of waiting.splice(0, max)) sum.handOver(counter);
  }

  function wait(sum: Sum): void {
    if (waiting.length >= WAITING_MAX) flush(HANDED_OVER_EARLY);
    waiting.push(sum);
  }

  return {
    add: (amount, attributes) => counter.add(amount, attributes),
    bind: (attributes) => new Sum(attributes, wait),
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

  /** Also of 0: that a series has a point is news too. */
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
