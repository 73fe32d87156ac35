/** By which attributes a series is known, and those of the one that has all others. Pure. */
import type { Attributes } from '@opentelemetry/api';

/** Of what has no place of its own (metrics SDK specification, "Overflow attribute"). */
export const OVERFLOW: Attributes = Object.freeze({ 'otel.metric.overflow': true });

export const OVERFLOW_KEY = keyOf(OVERFLOW);

export const NO_ATTRIBUTES: Attributes = Object.freeze({});

/** What a view leaves of the attributes. */
export function keptAttributes(
  attributes: Attributes,
  keeps: ((key: string) => boolean) | undefined,
): Attributes {
  if (keeps === undefined) return attributes;
  return Object.fromEntries(Object.entries(attributes).filter(([key]) => keeps(key)));
}

/** The same as an object that does not change any more. */
export function frozen(attributes: Attributes): Attributes {
  return Object.isFrozen(attributes) ? attributes : Object.freeze({ ...attributes });
}

/** Equal for attributes that are equal, in whatever order they were set. */
export function keyOf(attributes: Attributes): string {
  let key = '';
  for (const name of Object.keys(attributes).sort()) {
    const value = attributes[name];
    // Each with its length before it, so that no text can look like the end of it.
    const said = typeof value === 'string' ? value : JSON.stringify(value ?? null);
    key += `${name.length}:${name}${said.length}${typeof value === 'string' ? '"' : ':'}${said}`;
  }
  return key;
}
