/**
 * Finds what is kept for a series by the values of its attributes, in a look-up for each value: no text is made of them.
 * It holds a bounded number of series and never says what is kept of one.
 */
import type { Attributes } from '@opentelemetry/api';

/** One for each of the keys, in their order; undefined where a point does not have it. */
export type AttributeValues = readonly (string | boolean | undefined)[];

/** The keys of the values, in their order; undefined for one that is wanted on no point. */
export type AttributeKeys = readonly (string | undefined)[];

type AttributeValue = AttributeValues[number];

/** A level of a tree whose paths are the attribute values in the order of the keys. */
interface Node<S> {
  /** Under which it is found. */
  readonly value: AttributeValue;
  /** The first one. Most nodes have no other, and a map would be larger than all of them. */
  child: Node<S> | undefined;
  /** All of them, where there are several. */
  children: Map<AttributeValue, Node<S>> | undefined;
  /** Set at the end of a path. */
  series: S | undefined;
}

export interface SeriesTree<S> {
  /** What is kept for the series with these values. */
  of(values: AttributeValues): S;
}

/**
 * Used since it was last asked; with as many of the time before, which are let go of when these are too many. What they are
 * found by is lost then, and nothing else.
 */
const RECENT_MAX = 10_000;
/** UTF-16 units of their values: 2 MB, though each text counts for each series that it is of. */
const RECENT_CHARACTERS_MAX = 1_000_000;

/**
 * @param make what is kept for a series that is met for the first time; its attributes are frozen, and the same object
 * for as long as the series is held
 */
export function createSeriesTree<S>(keys: AttributeKeys, make: (attributes: Attributes) => S): SeriesTree<S> {
  let recent = newNode<S>(undefined);
  let former = newNode<S>(undefined);
  let size = 0;
  let characters = 0;

  /** Makes what is missing of the path to it. */
  function place(values: AttributeValues): Node<S> {
    let node = recent;
    for (let index = 0; index < keys.length; index += 1) {
      if (keys[index] === undefined) continue;
      node = childOf(node, values[index]) ?? addChild(node, values[index]);
    }
    return node;
  }

  function add(values: AttributeValues): S {
    const length = lengthOf(values);
    if (size >= RECENT_MAX || characters + length > RECENT_CHARACTERS_MAX) {
      former = recent;
      recent = newNode(undefined);
      size = 0;
      characters = 0;
    }
    const series = found(former, keys, values) ?? make(Object.freeze(attributesOf(keys, values)));
    place(values).series = series;
    size += 1;
    characters += length;
    return series;
  }

  return { of: (values) => found(recent, keys, values) ?? add(values) };
}

function lengthOf(values: AttributeValues): number {
  let characters = 0;
  for (const value of values) if (typeof value === 'string') characters += value.length;
  return characters;
}

function found<S>(root: Node<S>, keys: AttributeKeys, values: AttributeValues): S | undefined {
  let node: Node<S> | undefined = root;
  for (let index = 0; index < keys.length && node !== undefined; index += 1) {
    if (keys[index] !== undefined) node = childOf(node, values[index]);
  }
  return node?.series;
}

function childOf<S>({ child, children }: Node<S>, value: AttributeValue): Node<S> | undefined {
  if (children !== undefined) return children.get(value);
  return child?.value === value ? child : undefined;
}

function addChild<S>(node: Node<S>, value: AttributeValue): Node<S> {
  const added = newNode<S>(value);
  if (node.child === undefined) {
    node.child = added;
    return added;
  }
  node.children ??= new Map([[node.child.value, node.child]]);
  node.children.set(value, added);
  return added;
}

function newNode<S>(value: AttributeValue): Node<S> {
  return { value, child: undefined, children: undefined, series: undefined };
}

function attributesOf(keys: AttributeKeys, values: AttributeValues): Attributes {
  const attributes: Attributes = {};
  for (const [index, key] of keys.entries()) {
    const value = values[index];
    if (key !== undefined && value !== undefined) attributes[key] = value;
  }
  return attributes;
}
