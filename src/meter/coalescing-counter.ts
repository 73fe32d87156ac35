/**
 * A counter that adds up for itself and hands its sums over once per collection: behind the API may be an SDK in which an
 * `add()` costs more than decoding an event does. It holds only what was added since the last hand-over, within a bound.
 */
import type { Attributes, Counter } from '@opentelemetry/api';
import { type AttributeKeys, type AttributeValues, createSeriesTree } from './series-tree.ts';

/** One series of a counter; whoever has it needs no look-up to add to it. */
export interface CounterSeries {
  add(amount: number): void;
}

export interface CoalescingCounter {
  /** The series with these values, one for each of the counter's keys, in their order. */
  of(values: AttributeValues): CounterSeries;
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

export function createCoalescingCounter(counter: Counter, keys: AttributeKeys): CoalescingCounter {
  const waiting: Sum[] = [];

  function flush(max = waiting.length): void {
    for (const sum of waiting.splice(0, max)) sum.handOver(counter);
  }

  function wait(sum: Sum): void {
    if (waiting.length >= WAITING_MAX) flush(HANDED_OVER_EARLY);
    waiting.push(sum);
  }

  const tree = createSeriesTree(keys, (attributes) => new Sum(attributes, wait));
  return {
    of: tree.of,
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
