/**
 * An extension of the metrics API: instruments that can be bound to one series, so that recording needs no lookup, exemplars
 * for measurements whose span is known only later, and observations with an age, and ends of series. Only our own provider supports it; other providers need only the API (`guarded-provider.ts`).
 */
import type { Attributes, BatchObservableResult, Counter, Histogram, Observable } from '@opentelemetry/api';

/** What a measurement was made in. */
export interface ExemplarContext {
  /** Of its span; '' if it has none. */
  readonly traceId: string;
  readonly spanId: string;
  /** Beyond those of the series. */
  readonly attributes: Attributes;
}

/** Offers an exemplar to the series that the value was recorded in, which may keep others. */
export type OfferExemplar = (value: number, context: ExemplarContext) => void;

/** One series of a counter. */
export interface CounterSeries {
  add(amount: number): void;
}

export interface BindableCounter extends Counter {
  /** The series starts with the first `add`, and again after it has ended. */
  bind(attributes: Attributes): CounterSeries;
  /** Undefined: it has no exemplars. */
  bindExemplars?(attributes: Attributes): OfferExemplar;
}

/** One series of a histogram. */
export interface HistogramSeries {
  record(measurement: number): void;
}

export interface BindableHistogram extends Histogram {
  bind(attributes: Attributes): HistogramSeries;
  bindExemplars?(attributes: Attributes): OfferExemplar;
}

export function isBindable<I extends Counter | Histogram>(
  instrument: I,
): instrument is I & (I extends Counter ? BindableCounter : BindableHistogram) {
  return 'bind' in instrument && typeof instrument.bind === 'function';
}

/** Whether a series without a value has ended; else it is only missing, and may return. */
export type HasEnded = (attributes: Attributes) => boolean;

/** Takes values that are older than the collection, and the ends of series; other providers ignore both. */
export interface AgedObservableResult extends BatchObservableResult {
  /** @param ageMs how long ago the value was read */
  observe(observable: Observable, value: number, attributes?: Attributes, ageMs?: number): void;
  /** Which series of an observable that have no value at this collection have ended; if it is not called, none is known to have. */
  end?(observable: Observable, hasEnded: HasEnded): void;
}
