/** The settings of traces, already validated. Types only. */

/**
 * How it is decided which spans are kept (OpenTelemetry configuration schema, `Sampler` and `ExperimentalComposableSampler`). It is
 * decided once the outcome is known, so that rules may be about it.
 */
export type Sampler =
  | { readonly kind: 'always_on' }
  | { readonly kind: 'always_off' }
  /** In [0, 1]. */
  | { readonly kind: 'probability'; readonly ratio: number }
  /** The sampled flag of a remote parent decides, or the sampler for it. */
  | {
      readonly kind: 'parent_based';
      readonly root: Sampler;
      readonly remoteSampled: Sampler;
      readonly remoteNotSampled: Sampler;
    }
  /** The flag of a remote parent decides; without one, `root`. */
  | { readonly kind: 'parent_threshold'; readonly root: Sampler }
  /** The first rule that matches; if none does, the span is dropped. */
  | { readonly kind: 'rule_based'; readonly rules: readonly SamplingRule[] };

/** All conditions that are there must hold. */
export interface SamplingRule {
  readonly attributeValues?: { readonly key: string; readonly values: readonly string[] };
  /** With `*` and `?`; excluded ones win. */
  readonly attributePatterns?: {
    readonly key: string;
    readonly included: readonly string[] | undefined;
    readonly excluded: readonly string[];
  };
  readonly spanKinds?: readonly ('internal' | 'server' | 'client' | 'producer' | 'consumer')[];
  readonly parents?: readonly ('none' | 'remote' | 'local')[];
  readonly sampler: Sampler;
}

export interface TraceSettings {
  readonly sampler: Sampler;
  /** `beyond_workers`: only ends that instrumented workers cannot report themselves, and no sendings. */
  readonly spans: 'all' | 'beyond_workers';
  /** Whether a `root_id` that is a traceparent joins that trace, and workers are believed in which spans they run tasks. */
  readonly join: boolean;
  readonly sendSpans: boolean;
  /** Runtime from which a run has `celery.task.slow`, ms. */
  readonly slowAfterMs: number | undefined;
  /** A task whose ETA is further away begins a new trace, ms. */
  readonly maxDelayMs: number;
  /** Spans and age of a trace from which later tasks begin traces of their own. */
  readonly maxSpans: number;
  readonly maxAgeMs: number;
  /** Names of tasks that begin traces of their own; with `*` and `?`. */
  readonly newTraceFor: readonly string[];
  /** Whether spans have the reprs of arguments and results. */
  readonly arguments: boolean;
  /** Longest text of an attribute, in characters; undefined: no limit beyond those of decoding. */
  readonly attributeValueLengthMax: number | undefined;
  /** Whether an exception is a span event too, as where no log records are exported. */
  readonly exceptionEvents: boolean;
}
