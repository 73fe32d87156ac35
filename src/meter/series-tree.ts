/**
 * Finds what is kept for a series by the values of its attributes, in a look-up for each value: no text is made of them.
 * It holds a bounded number of series and never says what is kept of one.
 */
import type { Attributes } from '@opentelemetry/api';

/** One for each of the keys, in their order; undefined where a point does not have it. */
export type AttributeValues = readonly (string | boolean | undefined)[];

/** The keys of the values, in their order; undefined for one that is wanted on no point. */
export type AttributeKeys = readonly (string | undefined)[];

/** A level of a tree whose paths are the attribute values in the order of the keys. */
interface Node<S> {
  /** Most nodes are the end of a path, and have none. */
  children: Map<string | boolean | undefined, Node<S>> | undefined;
  /** Set at the end of a path. */
  series: S | undefined;
}

export interface SeriesTree<S> {
  /** What is kept for the series with these values. */
  of(values: AttributeValues): S;
}

/** Of one instrument. One too many lets go of all: what they are found by is lost, and nothing else. */
const SERIES_MAX = 10_000;

/**
 * @param make what is kept for a series that is met for the first time; its attributes are frozen, and the same object
 * for as long as the series is held
 */
export function createSeriesTree<S>(keys: AttributeKeys, make: (attributes: Attributes) => S): SeriesTree<S> {
  let root = newNode<S>();
  let size = 0;

  function find(values: AttributeValues): Node<S> {
    let node = root;
    for (let index = 0; index < keys.length; index += 1) {
      if (keys[index] === undefined) continue;
      const value = values[index];
      let child = node.children?.get(value);
      if (child === undefined) {
        child = newNode();
        node.children ??= new Map();
        node.children.set(value, child);
      }
      node = child;
    }
    return node;
  }

  function add(values: AttributeValues): S {
    if (size >= SERIES_MAX) {
      root = newNode();
      size = 0;
    }
    const series = make(Object.freeze(attributesOf(keys, values)));
    find(values).series = series;
    size += 1;
    return series;
  }

  return { of: (values) => find(values).series ?? add(values) };
}

function newNode<S>(): Node<S> {
  return { children: undefined, series: undefined };
}

function attributesOf(keys: AttributeKeys, values: AttributeValues): Attributes {
  const attributes: Attributes = {};
  for (const [index, key] of keys.entries()) {
    const value = values[index];
    if (key !== undefined && value !== undefined) attributes[key] = value;
  }
  return attributes;
}
