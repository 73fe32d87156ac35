/**
 * A view: which instruments it selects, and how it changes their streams (metrics SDK specification, "View"; names as in the
 * declarative configuration). Types and names only.
 */

export interface View {
  readonly selector: ViewSelector;
  readonly stream: ViewStream;
}

/** The kinds of instruments, as the declarative configuration names them. */
export const INSTRUMENT_KINDS = [
  'counter',
  'gauge',
  'histogram',
  'observable_counter',
  'observable_gauge',
  'observable_up_down_counter',
  'up_down_counter',
] as const;

export type InstrumentKind = (typeof INSTRUMENT_KINDS)[number];

/** All given criteria must match. At least one is given. */
export interface ViewSelector {
  /** `?` matches any character, `*` any number of them. Case-insensitive, as instrument names are. */
  readonly instrumentName?: string | undefined;
  readonly instrumentKind?: InstrumentKind | undefined;
  readonly unit?: string | undefined;
  readonly meterName?: string | undefined;
  readonly meterVersion?: string | undefined;
  readonly meterSchemaUrl?: string | undefined;
}

export interface ViewStream {
  /** The name of the stream; only if the instrument is selected by its full name. */
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly aggregation?: AggregationChoice | undefined;
  /** The cardinality limit, the overflow point included. */
  readonly cardinalityLimit?: number | undefined;
  readonly attributeKeys?: AttributeKeyChoice | undefined;
}

/** Case-sensitive patterns with `?` and `*`. `excluded` wins over `included`. */
export interface AttributeKeyChoice {
  /** Undefined: all keys are included. */
  readonly included?: readonly string[] | undefined;
  readonly excluded?: readonly string[] | undefined;
}

export type AggregationChoice =
  | { readonly kind: 'default' | 'drop' | 'sum' | 'last_value' }
  | {
      readonly kind: 'explicit_bucket_histogram';
      /** Undefined: the boundaries that the instrument advises. */
      readonly boundaries: readonly number[] | undefined;
      readonly recordMinMax: boolean;
    }
  | {
      readonly kind: 'base2_exponential_bucket_histogram';
      readonly maxScale: number;
      readonly maxSize: number;
      readonly recordMinMax: boolean;
    };
