/**
 * A counter that adds up in a few look-ups and hands its sums to the SDK's counter once per collection: there an `add()`
 * costs more than decoding an event does. It holds only what was added since the last hand-over, within a bound.
 */
import type { Counter } from '@opentelemetry/api';
import { type AttributeKeys, type AttributeValues, createSeriesTree } from './series-tree.ts';

export interface CoalescingCounter {
  /** Adds to the series with these values, one for each of the counter's keys, in their order. */
  add(amount: number, values: AttributeValues): void;
  /** Hands everything over to the SDK. */
  flush(): void;
}

export function createCoalescingCounter(counter: Counter, keys: AttributeKeys): CoalescingCounter {
  // Too many series are handed over early, which costs time but loses nothing.
  const tree = createSeriesTree(
    keys,
    (attributes) => ({ attributes, sum: 0 }),
    (held) => {
      for (const { sum, attributes } of held) counter.add(sum, attributes);
    },
  );
  return {
    add(amount, values) {
      tree.of(values).sum += amount;
    },
    flush: tree.clear,
  };
}
