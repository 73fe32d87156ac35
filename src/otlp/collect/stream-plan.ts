/**
 * Which streams an instrument has, by the views that select it (metrics SDK specification, "View" and "Measurement
 * processing"). It aggregates nothing itself. Pure.
 */
import { InstrumentType } from '@opentelemetry/sdk-metrics';
import type { Aggregation } from '../aggregate/aggregation.ts';
import { explicitBuckets } from '../aggregate/explicit-buckets.ts';
import { exponentialBuckets } from '../aggregate/exponential-buckets.ts';
import type { CardinalityLimits, StreamSettings } from '../otlp-settings.ts';
import type { AggregationChoice, AttributeKeyChoice, InstrumentKind, View } from './view.ts';
import { type Selectable, selects, wildcard } from './wildcard.ts';

/** An instrument as requested. */
export interface AskedInstrument extends Omit<Selectable, 'kind'> {
  readonly type: InstrumentType;
  readonly description: string;
}

export interface StreamPlan {
  readonly name: string;
  readonly description: string;
  readonly aggregation: AggregationChoice;
  /** The cardinality limit, the overflow point included. */
  readonly limit: number;
  /** Whether an attribute key is kept; undefined: all are. */
  readonly keeps: ((key: string) => boolean) | undefined;
}

type Kinds = Readonly<
  Record<InstrumentType, { readonly kind: InstrumentKind; readonly limit: keyof CardinalityLimits }>
>;

const KINDS: Kinds = {
  [InstrumentType.COUNTER]: { kind: 'counter', limit: 'counter' },
  [InstrumentType.GAUGE]: { kind: 'gauge', limit: 'gauge' },
  [InstrumentType.HISTOGRAM]: { kind: 'histogram', limit: 'histogram' },
  [InstrumentType.UP_DOWN_COUNTER]: { kind: 'up_down_counter', limit: 'counter' },
  [InstrumentType.OBSERVABLE_COUNTER]: { kind: 'observable_counter', limit: 'counter' },
  [InstrumentType.OBSERVABLE_GAUGE]: { kind: 'observable_gauge', limit: 'gauge' },
  [InstrumentType.OBSERVABLE_UP_DOWN_COUNTER]: { kind: 'observable_up_down_counter', limit: 'counter' },
};

/**
 * One per view that selects the instrument and does not drop it; with the defaults if no view selects it. The limit of a
 * view that sets none is the reader’s, as specified, and not 2000 as in the SDK (`MeterSharedState`).
 */
export function streamPlans(asked: AskedInstrument, settings: StreamSettings): readonly StreamPlan[] {
  const { kind, limit } = KINDS[asked.type];
  const selecting = settings.views.filter(({ selector }) => selects(selector, { ...asked, kind }));
  const streams = selecting.length === 0 ? [{}] : selecting.map(({ stream }: View) => stream);
  return streams.flatMap((stream: View['stream']): StreamPlan[] => {
    const aggregation = stream.aggregation ?? { kind: 'default' };
    if (aggregation.kind === 'drop') return [];
    return [
      {
        name: stream.name ?? asked.name,
        description: stream.description ?? asked.description,
        aggregation,
        limit: stream.cardinalityLimit ?? settings.limits[limit],
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
 * Opens the stream of a histogram with its aggregation; an aggregation that does not fit histograms is ignored.
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
