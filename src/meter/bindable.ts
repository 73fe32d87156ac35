/**
 * What a meter may have beyond the API: instruments that can be bound to one series, to which then is added without a
 * look-up. Those of our own provider can; of any other nothing is expected but the API (`guarded-provider.ts`).
 */
import type { Attributes, Counter, Histogram } from '@opentelemetry/api';

/** One series of a counter; whoever has it needs no look-up to add to it. */
export interface CounterSeries {
  add(amount: number): void;
}

export interface BindableCounter extends Counter {
  /** The series begins with what is added first, and anew after it has ended. */
  bind(attributes: Attributes): CounterSeries;
}

/** Likewise of a histogram. */
export interface HistogramSeries {
  record(measurement: number): void;
}

export interface BindableHistogram extends Histogram {
  /** Likewise. */
  bind(attributes: Attributes): HistogramSeries;
}

export function isBindableCounter(counter: Counter): counter is BindableCounter {
  return hasBind(counter);
}

export function isBindableHistogram(histogram: Histogram): histogram is BindableHistogram {
  return hasBind(histogram);
}

function hasBind(instrument: object): boolean {
  return 'bind' in instrument && typeof instrument.bind === 'function';
}
