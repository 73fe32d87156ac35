/**
 * A meter whose counters, up-down counters, histograms and observable gauges are our own streams. All other instruments stay
 * the SDK’s.
 *
 * Beyond the API, its counters and histograms can be bound to one series, which is then looked up once and not at each
 * measurement. `meter/` uses that if a meter has it.
 */
import type {
  Attributes,
  BatchObservableCallback,
  Counter,
  Histogram,
  Meter,
  MetricOptions,
  Observable,
} from '@opentelemetry/api';
import { InstrumentType } from '@opentelemetry/sdk-metrics';
import type { GaugeStream } from './gauge-stream.ts';
import type { ObservableCallbacks } from './observable-callbacks.ts';
import type { Measure, MeasureSeries, SeriesStream } from './series-stream.ts';

export interface StreamMeter extends Meter {
  createCounter(...asked: Parameters<Meter['createCounter']>): BindableCounter;
  createHistogram(...asked: Parameters<Meter['createHistogram']>): BindableHistogram;
}

export interface BindableCounter extends Counter {
  bind(attributes?: Attributes): { readonly add: MeasureSeries };
}

export interface BindableHistogram extends Histogram {
  bind(attributes?: Attributes): { readonly record: MeasureSeries };
}

/** Opens the streams of an instrument. */
export interface OpenStreams {
  counter(asked: Asked): readonly SeriesStream[];
  upDownCounter(asked: Asked): readonly SeriesStream[];
  histogram(asked: Asked): readonly SeriesStream[];
  gauge(asked: Asked): readonly GaugeStream[];
}

/** An instrument as requested. */
export interface Asked {
  readonly type: InstrumentType;
  readonly name: string;
  readonly options: MetricOptions | undefined;
}

/**
 * @param sdk of the same scope
 * @param open of the same scope
 */
export function createStreamMeter(
  sdk: Meter,
  open: OpenStreams,
  callbacks: ObservableCallbacks,
): StreamMeter {
  return {
    createCounter(name, options) {
      const streams = open.counter({ type: InstrumentType.COUNTER, name, options });
      return { add: measurer(streams), bind: (attributes) => ({ add: seriesMeasurer(streams, attributes) }) };
    },
    createUpDownCounter: (name, options) => ({
      add: measurer(open.upDownCounter({ type: InstrumentType.UP_DOWN_COUNTER, name, options })),
    }),
    createHistogram(name, options) {
      const streams = open.histogram({ type: InstrumentType.HISTOGRAM, name, options });
      return {
        record: measurer(streams),
        bind: (attributes) => ({ record: seriesMeasurer(streams, attributes) }),
      };
    },
    createObservableGauge(name, options) {
      const streams = open.gauge({ type: InstrumentType.OBSERVABLE_GAUGE, name, options });
      return callbacks.observable((value, attributes = {}) => {
        for (const stream of streams) stream.observe(value, attributes);
      });
    },
    createGauge: (name, options) => sdk.createGauge(name, options),
    createObservableCounter: (name, options) => sdk.createObservableCounter(name, options),
    createObservableUpDownCounter: (name, options) => sdk.createObservableUpDownCounter(name, options),
    addBatchObservableCallback(callback, observables) {
      const { ours, theirs } = byOwner(observables, callbacks);
      if (ours.length > 0) callbacks.addBatch(callback, ours);
      if (theirs.length > 0) sdk.addBatchObservableCallback(callback, theirs);
    },
    removeBatchObservableCallback(callback: BatchObservableCallback, observables: Observable[]) {
      const { ours, theirs } = byOwner(observables, callbacks);
      if (ours.length > 0) callbacks.removeBatch(callback, ours);
      if (theirs.length > 0) sdk.removeBatchObservableCallback(callback, theirs);
    },
  };
}

/** Nearly every instrument has one stream, which needs no loop. */
function measurer(streams: readonly SeriesStream[]): Measure {
  return (
    only(streams.map(({ measure }) => measure)) ??
    ((value, attributes) => {
      for (const stream of streams) stream.measure(value, attributes);
    })
  );
}

function seriesMeasurer(streams: readonly SeriesStream[], attributes: Attributes | undefined): MeasureSeries {
  const measures = streams.map((stream) => stream.bind(attributes));
  return (
    only(measures) ??
    ((value) => {
      for (const measure of measures) measure(value);
    })
  );
}

function only<T>(all: readonly T[]): T | undefined {
  return all.length === 1 ? all[0] : undefined;
}

function byOwner(observables: readonly Observable[], callbacks: ObservableCallbacks) {
  return {
    ours: observables.filter((observable) => callbacks.has(observable)),
    theirs: observables.filter((observable) => !callbacks.has(observable)),
  };
}
