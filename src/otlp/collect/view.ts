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
  readonly instrumentName?: string;
  readonly instrumentKind?: InstrumentKind;
  readonly unit?: string;
  readonly meterName?: string;
  readonly meterVersion?: string;
  readonly meterSchemaUrl?: string;
}

export interface ViewStream {
  /** Of an instrument that is selected by its whole name only. */
  readonly name?: string;
  readonly description?: string;
  readonly aggregation?: AggregationChoice;
  /** Points at most, the one of the overflow included. */
  readonly cardinalityLimit?: number;
  readonly attributeKeys?: AttributeKeyChoice;
}

/** Patterns with `?` and `*`; case matters. What is excluded stays so, though it is included. */
export interface AttributeKeyChoice {
  /** Undefined: all. */
  readonly included?: readonly string[];
  readonly excluded?: readonly string[];
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
