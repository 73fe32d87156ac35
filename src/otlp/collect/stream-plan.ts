/**
 * Plans the streams of an instrument by the views that select it (metrics SDK specification, "View" and "Measurement
 * processing"). It aggregates nothing. Pure.
 */
import { type MetricOptions, ValueType } from '@opentelemetry/api';
import type { InstrumentationScope } from '@opentelemetry/core';
import type { MetricDescriptor } from '@opentelemetry/sdk-metrics';
import { wildcard } from '../../text/wildcard.ts';
import type { Aggregation } from '../aggregate/aggregation.ts';
import { explicitBuckets } from '../aggregate/explicit-buckets.ts';
import { exponentialBuckets } from '../aggregate/exponential-buckets.ts';
import type { CardinalityLimits, StreamSettings } from '../otlp-settings.ts';
import { selects } from './selection.ts';
import type { AggregationChoice, AttributeKeyChoice, InstrumentKind, View } from './view.ts';

/** The cardinality limit that applies to each instrument kind. */
const LIMITS = {
  counter: 'counter',
  up_down_counter: 'counter',
  histogram: 'histogram',
  observable_gauge: 'gauge',
} as const satisfies Partial<Record<InstrumentKind, keyof CardinalityLimits>>;

/** An instrument as requested. */
export interface InstrumentRequest {
  readonly kind: keyof typeof LIMITS;
  readonly name: string;
  readonly options: MetricOptions | undefined;
}

export interface StreamPlan {
  readonly descriptor: MetricDescriptor;
  readonly aggregation: AggregationChoice;
  /** The cardinality limit, the overflow point included. */
  readonly limit: number;
  /** Whether an attribute key is kept; undefined: all are. */
  readonly keeps?: ((key: string) => boolean) | undefined;
}

/**
 * One stream per view that selects the instrument and does not drop it; a default stream if no view selects it. A view that sets
 * no limit has the reader’s limit, as specified; in the SDK it has 2000 (`MeterSharedState`).
 */
export function streamPlans(
  asked: InstrumentRequest,
  scope: InstrumentationScope,
  settings: StreamSettings,
): readonly StreamPlan[] {
  const { description = '', unit = '', valueType = ValueType.DOUBLE } = asked.options ?? {};
  const selectable = {
    instrumentKind: asked.kind,
    instrumentName: asked.name,
    unit,
    meterName: scope.name,
    meterVersion: scope.version ?? '',
    meterSchemaUrl: scope.schemaUrl ?? '',
  };
  const selecting = settings.views.filter(({ selector }) => selects(selector, selectable));
  const streams = selecting.length === 0 ? [{}] : selecting.map(({ stream }: View) => stream);
  return streams.flatMap((stream: View['stream']): StreamPlan[] => {
    const aggregation = stream.aggregation ?? { kind: 'default' };
    if (aggregation.kind === 'drop') return [];
    return [
      {
        descriptor: {
          name: stream.name ?? asked.name,
          description: stream.description ?? description,
          unit,
          valueType,
        },
        aggregation,
        limit: stream.cardinalityLimit ?? settings.limits[LIMITS[asked.kind]],
        keeps: stream.attributeKeys === undefined ? undefined : keeper(stream.attributeKeys),
      },
    ];
  });
}

function keeper({ included, excluded = [] }: AttributeKeyChoice): (key: string) => boolean {
  const wanted = included?.map((pattern) => wildcard(pattern));
  const unwanted = excluded.map((pattern) => wildcard(pattern));
  return (key) => (wanted?.some((fits) => fits(key)) ?? true) && !unwanted.some((fits) => fits(key));
}

/** The specification’s default, for instruments without advice. */
const DEFAULT_BOUNDARIES = [0, 5, 10, 25, 50, 75, 100, 250, 500, 750, 1000, 2500, 5000, 7500, 10000] as const;

/**
 * Opens the stream of a histogram with its aggregation. An aggregation that is not for histograms is ignored.
 * @param advised boundaries from the instrument’s advice
 */
export function openHistogram<S>(
  choice: AggregationChoice,
  advised: readonly number[] | undefined,
  byDefault: StreamSettings['histograms'],
  open: <V>(aggregation: Aggregation<V>) => S,
): S {
  switch (choice.kind) {
    case 'explicit_bucket_histogram':
      return open(explicitBuckets(choice.boundaries ?? advised ?? DEFAULT_BOUNDARIES, choice));
    case 'base2_exponential_bucket_histogram':
      return open(exponentialBuckets(choice));
    case 'default':
    case 'drop':
    case 'sum':
    case 'last_value':
      return byDefault === 'base2_exponential_bucket_histogram'
        ? open(exponentialBuckets())
        : open(explicitBuckets(advised ?? DEFAULT_BOUNDARIES));
  }
}
