/**
 * Which series are to end at the next collection, by the values of their attributes. It ends none itself.
 */
import type { Attributes } from '@opentelemetry/api';

/**
 * Kept by value, not as a mark on existing series: a measurement after a worker’s retirement may start a series, which has
 * to end, too.
 */
export class SeriesRetirement {
  #retired = new Map<string, Set<string>>();

  add(key: string, values: ReadonlySet<string>): void {
    const known = this.#retired.get(key) ?? new Set();
    for (const value of values) known.add(value);
    this.#retired.set(key, known);
  }

  /** Called at the start of a collection: whether a series ends with it. */
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
