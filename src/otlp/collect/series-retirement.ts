/**
 * Which series are to end, by the values of their attributes, from when that is said until the next collection. It knows no
 * series and ends none.
 */
import type { Attributes } from '@opentelemetry/api';

/**
 * Kept by value, not marked on the series there are: what is counted of a worker after it was said that the worker is
 * gone may be the first of its series, which ends, too.
 */
export class SeriesRetirement {
  #retired = new Map<string, Set<string>>();

  add(key: string, values: ReadonlySet<string>): void {
    const known = this.#retired.get(key) ?? new Set();
    for (const value of values) known.add(value);
    this.#retired.set(key, known);
  }

  /** A collection begins: whether a series is retired with it. */
  take(): (attributes: Attributes) => boolean {
    const retired = [...this.#retired];
    this.#retired = new Map();
    return (attributes) =>
      retired.some(([key, values]) => {
        const value = attributes[key];
        return typeof value === 'string' && values.has(value);
      });
  }
}
