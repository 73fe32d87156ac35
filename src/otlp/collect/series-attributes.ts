/** The attributes that identify a series, and those of the overflow series. Pure. */
import type { Attributes } from '@opentelemetry/api';

/** The attributes of the overflow series (metrics SDK specification, "Overflow attribute"). */
export const OVERFLOW: Attributes = Object.freeze({ 'otel.metric.overflow': true });

export const OVERFLOW_KEY = keyOf(OVERFLOW);

export const NO_ATTRIBUTES: Attributes = Object.freeze({});

/** The attributes that a view keeps. */
export function keptAttributes(
  attributes: Attributes,
  keeps: ((key: string) => boolean) | undefined,
): Attributes {
  if (keeps === undefined) return attributes;
  return Object.fromEntries(Object.entries(attributes).filter(([key]) => keeps(key)));
}

/** An immutable copy. */
export function frozen(attributes: Attributes): Attributes {
  return Object.isFrozen(attributes) ? attributes : Object.freeze({ ...attributes });
}

/** A key that is equal for equal attributes, in any order. */
export function keyOf(attributes: Attributes): string {
  let key = '';
  for (const name of Object.keys(attributes).sort()) {
    const value = attributes[name];
    // Prefixed by its length, so that no value can imitate a separator.
    const text = typeof value === 'string' ? value : JSON.stringify(value ?? null);
    key += `${name.length}:${name}${text.length}${typeof value === 'string' ? '"' : ':'}${text}`;
  }
  return key;
}
