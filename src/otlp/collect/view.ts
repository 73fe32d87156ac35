/**
 * What a view is: which instruments it selects, and what becomes of them (metrics SDK specification, "View"; the names
 * are those of the declarative configuration). Types only.
 */

export interface View {
  readonly selector: ViewSelector;
  readonly stream: ViewStream;
}

export type InstrumentKind =
  | 'counter'
  | 'gauge'
  | 'histogram'
  | 'observable_counter'
  | 'observable_gauge'
  | 'observable_up_down_counter'
  | 'up_down_counter';

/** Whatever is given has to fit; at least one is. */
export interface ViewSelector {
  /** `?` stands for any character, `*` for any number of them. Case does not matter: by the specification names of instruments differ in more than that. */
  readonly instrumentName?: string | undefined;
  readonly instrumentKind?: InstrumentKind | undefined;
  readonly unit?: string | undefined;
  readonly meterName?: string | undefined;
  readonly meterVersion?: string | undefined;
  readonly meterSchemaUrl?: string | undefined;
}

export interface ViewStream {
  /** Of an instrument that is selected by its whole name only. */
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly aggregation?: AggregationChoice | undefined;
  /** Points at most, the one of the overflow included. */
  readonly cardinalityLimit?: number | undefined;
  readonly attributeKeys?: AttributeKeyChoice | undefined;
}

/** Patterns with `?` and `*`; case matters. What is excluded stays so, though it is included. */
export interface AttributeKeyChoice {
  /** Undefined: all. */
  readonly included?: readonly string[] | undefined;
  readonly excluded?: readonly string[] | undefined;
}

export type AggregationChoice =
  | { readonly kind: 'default' }
  | { readonly kind: 'drop' }
  | { readonly kind: 'sum' }
  | { readonly kind: 'last_value' }
  | {
      readonly kind: 'explicit_bucket_histogram';
      /** Undefined: those of the instrument. */
      readonly boundaries: readonly number[] | undefined;
      readonly recordMinMax: boolean;
    }
  | {
      readonly kind: 'base2_exponential_bucket_histogram';
      readonly maxScale: number;
      readonly maxSize: number;
      readonly recordMinMax: boolean;
    };
