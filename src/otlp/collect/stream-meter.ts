/**
 * The meter of a scope. It supports counters, up-down counters, histograms and observable gauges with batch callbacks: only the
 * bridge and the SDK’s exporter metrics use it, and they need no more.
 *
 * Beyond the API, its counters and histograms can be bound to one series, which is then looked up once instead of at each
 * measurement. `meter/` binds if a meter supports it.
 */
import { type Attributes, createNoopMeter, type Meter } from '@opentelemetry/api';
import type { BindableCounter, BindableHistogram } from '../../meter/bindable.ts';
import type { ObservableCallbacks } from './observable-callbacks.ts';
import type { ScopeStreams } from './scope-streams.ts';
import type { Measure, MeasureSeries, SeriesStream } from './series-stream.ts';

export interface StreamMeter extends Meter {
  createCounter(...asked: Parameters<Meter['createCounter']>): BindableCounter;
  createHistogram(...asked: Parameters<Meter['createHistogram']>): BindableHistogram;
}

/** Provides the instrument kinds that are not used here. */
const NOOP = createNoopMeter();

export function createStreamMeter(streams: ScopeStreams, callbacks: ObservableCallbacks): StreamMeter {
  return {
    createCounter(name, options) {
      const opened = streams.sum({ kind: 'counter', name, options });
      return {
        add: measurerOf(opened),
        bind: (attributes) => ({ add: seriesMeasurerOf(opened, attributes) }),
        bindExemplars: (attributes) => asOne(opened.map((stream) => stream.bindExemplars(attributes))),
      };
    },
    createUpDownCounter: (name, options) => ({
      add: measurerOf(streams.sum({ kind: 'up_down_counter', name, options })),
    }),
    createHistogram(name, options) {
      const opened = streams.histogram({ kind: 'histogram', name, options });
      return {
        record: measurerOf(opened),
        bind: (attributes) => ({ record: seriesMeasurerOf(opened, attributes) }),
        bindExemplars: (attributes) => asOne(opened.map((stream) => stream.bindExemplars(attributes))),
      };
    },
    createObservableGauge(name, options) {
      const opened = streams.gauge({ kind: 'observable_gauge', name, options });
      return callbacks.observable({
        observe(value, attributes = {}, ageMs = 0) {
          for (const stream of opened) stream.observe(value, attributes, ageMs);
        },
        end(hasEnded) {
          for (const stream of opened) stream.end(hasEnded);
        },
      });
    },
    addBatchObservableCallback: (callback) => callbacks.add(callback),
    removeBatchObservableCallback: (callback) => callbacks.remove(callback),
    createGauge: NOOP.createGauge,
    createObservableCounter: NOOP.createObservableCounter,
    createObservableUpDownCounter: NOOP.createObservableUpDownCounter,
  };
}

function measurerOf(streams: readonly SeriesStream[]): Measure {
  return asOne(streams.map(({ measure }) => measure));
}

function seriesMeasurerOf(streams: readonly SeriesStream[], attributes: Attributes): MeasureSeries {
  return asOne(streams.map((stream) => stream.bind(attributes)));
}

/** Combines several functions to one. Nearly every instrument has one stream only, and needs no loop. */
function asOne<Of extends readonly unknown[]>(
  each: readonly ((value: number, ...of: Of) => void)[],
): (value: number, ...of: Of) => void {
  const [only, ...others] = each;
  if (only !== undefined && others.length === 0) return only;
  return (value, ...of) => {
    for (const one of each) one(value, ...of);
  };
}
