/** The settings of traces, already validated. Types only. */

/**
 * Which spans are kept (OpenTelemetry configuration schema, `Sampler` and `ExperimentalComposableSampler`). The sampler runs once
 * the outcome is known, so that rules can depend on the outcome.
 */
export type Sampler =
  | { readonly kind: 'always_on' }
  | { readonly kind: 'always_off' }
  /** In [0, 1]. */
  | { readonly kind: 'probability'; readonly ratio: number }
  /** The sampled flag of a remote parent selects the sampler; spans without a remote parent use `root`. */
  | {
      readonly kind: 'parent_based';
      readonly root: Sampler;
      readonly remoteSampled: Sampler;
      readonly remoteNotSampled: Sampler;
    }
  /** The sampled flag of a remote parent decides; without a remote parent, `root` does. */
  | { readonly kind: 'parent_threshold'; readonly root: Sampler }
  /** The first matching rule decides. If no rule matches, the span is dropped. */
  | { readonly kind: 'rule_based'; readonly rules: readonly SamplingRule[] };

/** A span matches if all given conditions hold. */
export interface SamplingRule {
  readonly attributeValues?: { readonly key: string; readonly values: readonly string[] };
  /** Patterns with `*` and `?`; `excluded` wins over `included`. */
  readonly attributePatterns?: {
    readonly key: string;
    readonly included: readonly string[] | undefined;
    readonly excluded: readonly string[];
  };
  readonly spanKinds?: readonly ('internal' | 'server' | 'client' | 'producer' | 'consumer')[];
  readonly parents?: readonly ('none' | 'remote' | 'local')[];
  readonly sampler: Sampler;
}

/** A span matches if all given patterns, with `*` and `?`, match. At least one is given. */
export interface ServiceNameRule {
  readonly task?: string;
  readonly queue?: string;
  /** Nodename of the worker that ran the task, or of the sender. */
  readonly worker?: string;
  readonly name: string;
  /** The text of the rule, for example `queue:emails=mailer`. */
  readonly label: string;
}

export interface TraceSettings {
  readonly sampler: Sampler;
  /**
   * How long a run is held at most until its trace is over, so that a trace is kept or dropped as a whole, ms; 0: each run is
   * kept or dropped on its own. Only where the sampler can treat the runs of a trace differently.
   */
  readonly holdMs: number;
  /** `beyond_workers`: only runs whose end an instrumented worker cannot report, and no sendings. */
  readonly spans: 'all' | 'beyond_workers';
  /** Whether a `root_id` that is a traceparent joins that trace, and whether the worker spans that workers report are used. */
  readonly join: boolean;
  readonly sendSpans: boolean;
  /** Runs with at least this runtime have `celery.task.slow`, ms. */
  readonly slowAfterMs: number | undefined;
  /** A task with a longer delay until its ETA begins a new trace, ms. */
  readonly maxDelayMs: number;
  /** Once a trace has this many spans, or is older than `maxAgeMs`, further tasks begin new traces. */
  readonly maxSpans: number;
  readonly maxAgeMs: number;
  /** Names of tasks that begin a new trace; patterns with `*` and `?`. */
  readonly newTraceFor: readonly string[];
  /** Spans that have another `service.name` than their service; the first matching rule decides. */
  readonly serviceNames: readonly ServiceNameRule[];
  /** Whether spans contain the reprs of arguments and results. */
  readonly arguments: boolean;
  /** Longest text of an attribute, in characters. Undefined: only the limits of decoding apply. */
  readonly attributeValueLengthMax: number | undefined;
  /** Whether exceptions are span events, which is so if log records are not exported. */
  readonly exceptionEvents: boolean;
}
