/**
 * Which series are to end, by the values of their attributes, until it is certain that they have been exported a last
 * time. It knows no series and ends none.
 */
import type { Attributes } from '@opentelemetry/api';

type Retired = Map<string, Set<string>>;

/**
 * Kept by value, not marked on the series there are: what was counted of a worker may be handed over only after it was
 * said that the worker is gone, and be the first of its series.
 */
export class SeriesRetirement {
  #sinceCollection: Retired = new Map();
  #untilExported: Retired = new Map();

  add(key: string, values: ReadonlySet<string>): void {
    addAll(this.#sinceCollection, key, values);
  }

  /** A collection begins: whether a series is retired, in this one or in one whose export failed. */
  take(): (attributes: Attributes) => boolean {
    for (const [key, values] of this.#sinceCollection) addAll(this.#untilExported, key, values);
    this.#sinceCollection = new Map();
    const retired = [...this.#untilExported];
    return (attributes) =>
      retired.some(([key, values]) => {
        const value = attributes[key];
        return typeof value === 'string' && values.has(value);
      });
  }

  /** What was collected last has been exported. */
  exported(): void {
    this.#untilExported = new Map();
  }
}

function addAll(retired: Retired, key: string, values: ReadonlySet<string>): void {
  const known = retired.get(key) ?? new Set();
  for (const value of values) known.add(value);
  retired.set(key, known);
}
