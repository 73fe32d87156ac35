/**
 * A meter whose counters, up-down counters, histograms and observable gauges are streams of ours. The kinds of instruments that nobody here
 * needs stay the SDK’s.
 */
import type {
  Attributes,
  BatchObservableCallback,
  Meter,
  MetricOptions,
  Observable,
} from '@opentelemetry/api';
import { InstrumentType } from '@opentelemetry/sdk-metrics';
import type { GaugeStream } from './gauge-stream.ts';
import type { ObservableCallbacks } from './observable-callbacks.ts';
import type { SeriesStream } from './series-stream.ts';

/** What makes the streams of an instrument. */
export interface OpenStreams {
  counter(asked: Asked): readonly SeriesStream[];
  upDownCounter(asked: Asked): readonly SeriesStream[];
  histogram(asked: Asked): readonly SeriesStream[];
  gauge(asked: Asked): readonly GaugeStream[];
}

/** An instrument as a program asks for it. */
export interface Asked {
  readonly type: InstrumentType;
  readonly name: string;
  readonly options: MetricOptions | undefined;
}

/**
 * @param sdk of the same scope
 * @param open of the same scope
 */
export function createStreamMeter(sdk: Meter, open: OpenStreams, callbacks: ObservableCallbacks): Meter {
  return {
    createCounter: (name, options) => ({
      add: measurer(open.counter({ type: InstrumentType.COUNTER, name, options })),
    }),
    createUpDownCounter: (name, options) => ({
      add: measurer(open.upDownCounter({ type: InstrumentType.UP_DOWN_COUNTER, name, options })),
    }),
    createHistogram: (name, options) => ({
      record: measurer(open.histogram({ type: InstrumentType.HISTOGRAM, name, options })),
    }),
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

type Measure = (value: number, attributes?: Attributes) => void;

/** Nearly every instrument is one stream: no list is walked for it. */
function measurer(streams: readonly SeriesStream[]): Measure {
  const [only, ...others] = streams;
  if (only === undefined) return () => {};
  if (others.length === 0) return only.measure;
  return (value, attributes) => {
    for (const stream of streams) stream.measure(value, attributes);
  };
}

function byOwner(observables: readonly Observable[], callbacks: ObservableCallbacks) {
  return {
    ours: observables.filter((observable) => callbacks.has(observable)),
    theirs: observables.filter((observable) => !callbacks.has(observable)),
  };
}
