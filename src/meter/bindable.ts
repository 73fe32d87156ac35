/**
 * An extension of the metrics API: instruments that can be bound to one series, so that recording needs no lookup, and
 * observations with an age. Only our own provider supports it; other providers need only the API (`guarded-provider.ts`).
 */
import type { Attributes, BatchObservableResult, Counter, Histogram, Observable } from '@opentelemetry/api';

/** One series of a counter. */
export interface CounterSeries {
  add(amount: number): void;
}

export interface BindableCounter extends Counter {
  /** The series starts with the first `add`, and again after it has ended. */
  bind(attributes: Attributes): CounterSeries;
}

/** One series of a histogram. */
export interface HistogramSeries {
  record(measurement: number): void;
}

export interface BindableHistogram extends Histogram {
  bind(attributes: Attributes): HistogramSeries;
}

export function isBindable<I extends Counter | Histogram>(
  instrument: I,
): instrument is I & (I extends Counter ? BindableCounter : BindableHistogram) {
  return 'bind' in instrument && typeof instrument.bind === 'function';
}

/** Takes values that are older than the collection; other providers ignore the age. */
export interface AgedObservableResult extends BatchObservableResult {
  /** @param ageMs how long ago the value was read */
  observe(observable: Observable, value: number, attributes?: Attributes, ageMs?: number): void;
}
