/**
 * A counter that adds up in a few look-ups and hands its sums to the SDK's counter once per collection: there an `add()`
 * costs more than decoding an event does. It holds only what was added since the last hand-over, within a bound.
 */
import type { Attributes, Counter } from '@opentelemetry/api';

/** One for each of the keys, in their order; undefined where a point does not have it. */
export type AttributeValues = readonly (string | boolean | undefined)[];

/** A level of a tree whose paths are the attribute values in the order of the keys. */
interface Node {
  readonly children: Map<string | boolean | undefined, Node>;
  /** Set at the end of a path. */
  attributes: Attributes | undefined;
  sum: number;
}

export interface CoalescingCounter {
  /** Adds to the series with these values, one for each of the counter's keys, in their order. */
  add(amount: number, values: AttributeValues): void;
  /** Hands everything over to the SDK. */
  flush(): void;
}

/** Of one counter between two collections; reaching it hands over early, which costs time but loses nothing. */
const SERIES_MAX = 10_000;

export function createCoalescingCounter(counter: Counter, keys: readonly string[]): CoalescingCounter {
  let root = newNode();
  let series: Node[] = [];

  function flush(): void {
    for (const { attributes, sum } of series) counter.add(sum, attributes);
    root = newNode();
    series = [];
  }

  function find(values: AttributeValues): Node {
    let node = root;
    for (const value of values) {
      let child = node.children.get(value);
      if (child === undefined) {
        child = newNode();
        node.children.set(value, child);
      }
      node = child;
    }
    return node;
  }

  return {
    add(amount, values) {
      let node = find(values);
      if (node.attributes === undefined) {
        if (series.length >= SERIES_MAX) {
          flush();
          node = find(values);
        }
        node.attributes = attributesOf(keys, values);
        series.push(node);
      }
      node.sum += amount;
    },
    flush,
  };
}

function newNode(): Node {
  return { children: new Map(), attributes: undefined, sum: 0 };
}

export function attributesOf(keys: readonly string[], values: AttributeValues): Attributes {
  const attributes: Attributes = {};
  for (const [index, key] of keys.entries()) {
    const value = values[index];
    if (value !== undefined) attributes[key] = value;
  }
  return attributes;
}
