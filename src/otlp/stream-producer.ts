/**
 * Meters whose counters and histograms with explicit buckets are aggregated here instead of in the SDK, and the producer
 * through which the SDK's reader collects them. Everything else of a meter stays the SDK's.
 */
import { type Meter, type MetricOptions, ValueType } from '@opentelemetry/api';
import type { InstrumentationScope } from '@opentelemetry/core';
import { emptyResource } from '@opentelemetry/resources';
import {
  type AggregationTemporality,
  InstrumentType,
  type MetricProducer,
  type ScopeMetrics,
} from '@opentelemetry/sdk-metrics';
import type { Aggregation } from './aggregation.ts';
import { explicitBuckets } from './explicit-buckets.ts';
import { MONOTONIC_SUM } from './monotonic-sum.ts';
import { SeriesRetirement } from './series-retirement.ts';
import { createSeriesStream, type SeriesStream } from './series-stream.ts';

export interface StreamProducer extends MetricProducer {
  /** The SDK's meter of a scope, but for such instruments; those of one kind, name and scope are one stream. */
  meter(sdk: Meter, scope: InstrumentationScope): Meter;
  /**
   * Ends the series of all these instruments whose attribute `key` has one of the values, once everything that was
   * measured of them has been exported. They begin anew with what is measured after that.
   */
  retire(key: string, values: ReadonlySet<string>): void;
  /** What was collected last has been exported. */
  exported(): void;
}

export interface StreamProducerOptions {
  readonly selectTemporality: (instrument: InstrumentType) => AggregationTemporality;
  /** Points of one instrument at most, the one of the overflow included. */
  readonly limit?: number;
  readonly nowMs?: () => number;
}

/** As the specification's default. */
const CARDINALITY_LIMIT = 2000;

/** The streams of one scope, by what makes two instruments the same one. */
type Streams = Map<string, SeriesStream>;

/** An instrument as it was asked for. */
interface Asked {
  readonly type: InstrumentType;
  readonly name: string;
  readonly options: MetricOptions | undefined;
}

type OpenStream = <V>(streams: Streams, asked: Asked, aggregation: Aggregation<V>) => SeriesStream;

export function createStreamProducer(options: StreamProducerOptions): StreamProducer {
  const { selectTemporality, limit = CARDINALITY_LIMIT, nowMs = () => Date.now() } = options;
  const scopes = new Map<string, { readonly scope: InstrumentationScope; readonly streams: Streams }>();
  const retirement = new SeriesRetirement();

  function streamsOf(scope: InstrumentationScope): Streams {
    const key = JSON.stringify([scope.name, scope.version]);
    const known = scopes.get(key);
    if (known !== undefined) return known.streams;
    const streams: Streams = new Map();
    scopes.set(key, { scope, streams });
    return streams;
  }

  const open: OpenStream = (streams, asked, aggregation) => {
    const known = streams.get(identityOf(asked));
    if (known !== undefined) return known;
    const { description = '', unit = '', valueType = ValueType.DOUBLE } = asked.options ?? {};
    const descriptor = { name: asked.name, description, unit, valueType };
    const temporality = selectTemporality(asked.type);
    const stream = createSeriesStream({ descriptor, aggregation, temporality, limit, nowMs });
    streams.set(identityOf(asked), stream);
    return stream;
  };

  return {
    meter: (sdk, scope) => meterOver(sdk, streamsOf(scope), open),
    retire: (key, values) => retirement.add(key, values),
    exported() {
      retirement.exported();
      for (const { streams } of scopes.values()) for (const stream of streams.values()) stream.exported();
    },
    async collect() {
      const collectedAtMs = nowMs();
      const isRetired = retirement.take();
      const scopeMetrics = [...scopes.values()].flatMap(({ scope, streams }): ScopeMetrics[] => {
        const metrics = [...streams.values()].flatMap(
          (stream) => stream.collect(collectedAtMs, isRetired) ?? [],
        );
        return metrics.length === 0 ? [] : [{ scope, metrics }];
      });
      // The reader puts the provider's resource in the place of this one.
      return { resourceMetrics: { resource: emptyResource(), scopeMetrics }, errors: [] };
    },
  };
}

function meterOver(sdk: Meter, streams: Streams, open: OpenStream): Meter {
  return {
    createCounter(name, options) {
      const stream = open(streams, { type: InstrumentType.COUNTER, name, options }, MONOTONIC_SUM);
      return { add: stream.measure };
    },
    createHistogram(name, options) {
      const asked = { type: InstrumentType.HISTOGRAM, name, options };
      const boundaries = options?.advice?.explicitBucketBoundaries;
      const stream =
        boundaries === undefined
          ? streams.get(identityOf(asked))
          : open(streams, asked, explicitBuckets(boundaries));
      return stream === undefined ? sdk.createHistogram(name, options) : { record: stream.measure };
    },
    createGauge: (name, options) => sdk.createGauge(name, options),
    createUpDownCounter: (name, options) => sdk.createUpDownCounter(name, options),
    createObservableGauge: (name, options) => sdk.createObservableGauge(name, options),
    createObservableCounter: (name, options) => sdk.createObservableCounter(name, options),
    createObservableUpDownCounter: (name, options) => sdk.createObservableUpDownCounter(name, options),
    addBatchObservableCallback: (callback, observables) =>
      sdk.addBatchObservableCallback(callback, observables),
    removeBatchObservableCallback: (callback, observables) =>
      sdk.removeBatchObservableCallback(callback, observables),
  };
}

function identityOf({
  type,
  name,
  options: { unit = '', valueType = ValueType.DOUBLE } = {},
}: Asked): string {
  return JSON.stringify([type, name.toLowerCase(), unit, valueType]);
}
