/**
 * An extension of the metrics API. It binds instruments to one series, so that recording needs no lookup; adds exemplars to
 * measurements whose span is known only later; and takes the age of observations, and the ends of series. Only our own
 * provider implements it; other providers need only the API (`guarded-provider.ts`).
 */
import type { Attributes, BatchObservableResult, Counter, Histogram, Observable } from '@opentelemetry/api';

/** The context of a measurement. */
export interface ExemplarContext {
  /** Trace and span of the measurement; '' if it has none. */
  readonly traceId: string;
  readonly spanId: string;
  /** In addition to those of the series. */
  readonly attributes: Attributes;
}

/** Offers an exemplar to the series in which the value was recorded. The series may keep other exemplars instead. */
export type OfferExemplar = (value: number, context: ExemplarContext) => void;

/** One series of a counter. */
export interface CounterSeries {
  add(amount: number): void;
}

export interface BindableCounter extends Counter {
  /** The series starts at the first `add`, and starts again at the first `add` after its end. */
  bind(attributes: Attributes): CounterSeries;
  /** Undefined: the provider makes no exemplars. */
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

/** Whether a series without a value has ended; if not, its value is only missing, and may return. */
export type HasEnded = (attributes: Attributes) => boolean;

/** Also takes the ages of values, and the ends of series; other providers ignore both. */
export interface AgedObservableResult extends BatchObservableResult {
  /** @param ageMs how long ago the value was read */
  observe(observable: Observable, value: number, attributes?: Attributes, ageMs?: number): void;
  /** Sets which series of an observable without a value at this collection have ended; if it is not called, none counts as ended. */
  end?(observable: Observable, hasEnded: HasEnded): void;
}
