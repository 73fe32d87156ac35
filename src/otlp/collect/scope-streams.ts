/** The streams of one instrumentation scope. Views decide which streams an instrument has; each instrument is opened once. */
import { type Attributes, ValueType } from '@opentelemetry/api';
import type { InstrumentationScope } from '@opentelemetry/core';
import { AggregationTemporality } from '@opentelemetry/sdk-metrics';
import { createPace, type YieldToLoop } from '../../timing/cooperative.ts';
import type { Aggregation } from '../aggregate/aggregation.ts';
import { MONOTONIC_SUM, UP_DOWN_SUM } from '../aggregate/sum.ts';
import type { StreamSettings } from '../otlp-settings.ts';
import type { CollectedMetric, Overflow, Stream } from './collected-metric.ts';
import type { EndedPoint } from './ended-series.ts';
import { createGaugeStream, type GaugeCombination, type GaugeStream } from './gauge-stream.ts';
import { createSeriesStream, type SeriesStream, type SeriesStreamOptions } from './series-stream.ts';
import { type InstrumentRequest, openHistogram, type StreamPlan, streamPlans } from './stream-plan.ts';

export interface ScopeStreamsOptions
  extends Pick<SeriesStreamOptions<never>, 'nowMs' | 'steadyMs' | 'retentionMs'> {
  readonly settings: StreamSettings;
  /** How observations of a gauge are combined, by the name of the instrument. */
  readonly combination: (instrument: string) => GaugeCombination;
  /** Called at the next collection after an overflow. */
  readonly onOverflow?: ((overflow: Overflow) => void) | undefined;
  /** Awaited after each long piece of work. */
  readonly yieldToLoop: YieldToLoop;
}

export interface CollectedScope {
  readonly scope: InstrumentationScope;
  readonly metrics: readonly CollectedMetric[];
  /** The final points of series that have ended. */
  readonly ended?: readonly EndedPoint[];
}

export class ScopeStreams {
  readonly #scope: InstrumentationScope;
  readonly #options: ScopeStreamsOptions;
  readonly #series = new Map<string, readonly SeriesStream[]>();
  readonly #gauges = new Map<string, readonly GaugeStream[]>();
  /** By stream: how many measurements had overflowed when the last overflow was reported. */
  readonly #overflowed = new Map<Stream, number>();

  constructor(scope: InstrumentationScope, options: ScopeStreamsOptions) {
    this.#scope = scope;
    this.#options = options;
  }

  all(): readonly Stream[] {
    return [...this.#series.values(), ...this.#gauges.values()].flat();
  }

  /** Collects the streams one by one, and yields to the event loop in between. */
  async collect(isRetired: (attributes: Attributes) => boolean, isLast: boolean): Promise<CollectedScope> {
    const metrics: CollectedMetric[] = [];
    const ended: EndedPoint[] = [];
    const pace = createPace(this.#options.yieldToLoop);
    for (const stream of this.all()) {
      const nowMs = this.#options.nowMs();
      const collected = stream.collect(nowMs, isRetired, isLast);
      if (collected !== undefined) metrics.push(collected);
      // The last collection exports no ends: most series continue after a restart, and the last values of others may
      // not have been scraped yet.
      if (this.#options.settings.markEnded === true && !isLast) ended.push(...stream.collectEnded(nowMs));
      this.#reportOverflow(stream);
      await pace();
    }
    return { scope: this.#scope, metrics, ended };
  }

  sum(asked: InstrumentRequest): readonly SeriesStream[] {
    const aggregation = asked.kind === 'counter' ? MONOTONIC_SUM : UP_DOWN_SUM;
    return this.#known(this.#series, asked, (plan) => this.#seriesStream(asked, plan, aggregation));
  }

  histogram(asked: InstrumentRequest): readonly SeriesStream[] {
    const advised = asked.options?.advice?.explicitBucketBoundaries;
    const { histograms } = this.#options.settings;
    return this.#known(this.#series, asked, (plan) =>
      openHistogram(plan.aggregation, advised, histograms, (aggregation) =>
        this.#seriesStream(asked, plan, aggregation),
      ),
    );
  }

  gauge(asked: InstrumentRequest): readonly GaugeStream[] {
    const combination = this.#options.combination(asked.name);
    return this.#known(this.#gauges, asked, (plan) =>
      createGaugeStream({ ...plan, combination, steadyMs: this.#options.steadyMs }),
    );
  }

  #reportOverflow(stream: Stream): void {
    const { overflowed } = stream.tally();
    const before = this.#overflowed.get(stream) ?? 0;
    if (overflowed === before) return;
    this.#overflowed.set(stream, overflowed);
    const { metric, limit } = stream;
    this.#options.onOverflow?.({ metric, limit, isFirst: before === 0 });
  }

  /** Requests for the same instrument return the same streams. */
  #known<S extends Stream>(
    instruments: Map<string, readonly S[]>,
    asked: InstrumentRequest,
    open: (plan: StreamPlan) => S,
  ): readonly S[] {
    const identity = identityOf(asked);
    const known = instruments.get(identity);
    if (known !== undefined) return known;
    const opened = streamPlans(asked, this.#scope, this.#options.settings).map(open);
    instruments.set(identity, opened);
    return opened;
  }

  #seriesStream<V>({ kind }: InstrumentRequest, plan: StreamPlan, aggregation: Aggregation<V>): SeriesStream {
    const { settings, nowMs, steadyMs, retentionMs } = this.#options;
    // `delta` and `lowmemory` differ only for instrument kinds that are not used here.
    const isCumulative = settings.temporality === 'cumulative' || kind === 'up_down_counter';
    const temporality = isCumulative ? AggregationTemporality.CUMULATIVE : AggregationTemporality.DELTA;
    const { zeroFirstMs } = settings;
    return createSeriesStream({
      ...plan,
      aggregation,
      temporality,
      nowMs,
      steadyMs,
      retentionMs,
      zeroFirstMs,
    });
  }
}

/** A key of the instrument. Instrument names are case-insensitive. */
function identityOf({
  kind,
  name,
  options: { unit = '', valueType = ValueType.DOUBLE } = {},
}: InstrumentRequest): string {
  return JSON.stringify([kind, name.toLowerCase(), unit, valueType]);
}
