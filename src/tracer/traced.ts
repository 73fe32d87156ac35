/** The telemetry of a finished run or sending: its spans, and its ids for log records and exemplars, made on demand. */
import type { Finished } from './ancestry/finished.ts';
import type { Span } from './span.ts';
import { processSpanId, sendSpanId } from './span-id.ts';
import { SAMPLED, type TraceContext, traceFlags } from './trace-context.ts';
import type { TraceOrigin } from './trace-origin.ts';

export interface Traced {
  /**
   * Of the span in which its worker ran it, if the worker reported that; else of its `process` span, or of its `send` span if
   * nothing ran. Of dropped ones too. Undefined if no root is known.
   */
  readonly context: TraceContext | undefined;
  /** Whether the span of `context` is exported, as far as that is known. */
  readonly isKept: boolean;
  /** Those to export: parents first. */
  readonly spans: readonly Span[];
  /** Dropped, because its trace is unknown. */
  readonly droppedUnknownRoot?: boolean;
}

const NONE: readonly Span[] = [];

/** Its receipt was missed. */
export const UNKNOWN_ROOT: Traced = {
  context: undefined,
  isKept: false,
  spans: NONE,
  droppedUnknownRoot: true,
};

export class TracedInto implements Traced {
  readonly spans: readonly Span[];
  readonly #finished: Finished;
  readonly #origin: TraceOrigin;
  readonly #worker: TraceContext | undefined;
  #context: TraceContext | undefined;

  /** @param worker of the span in which the worker ran it */
  constructor(finished: Finished, origin: TraceOrigin, spans = NONE, worker?: TraceContext) {
    this.#worker = worker;
    this.#context = worker;
    this.#finished = finished;
    this.#origin = origin;
    this.spans = spans;
  }

  get isKept(): boolean {
    return this.#worker === undefined ? this.spans.length > 0 : (this.#worker.flags & SAMPLED) !== 0;
  }

  get context(): TraceContext {
    this.#context ??= {
      traceId: this.#origin.traceId,
      spanId: this.spans.at(-1)?.spanId ?? spanIdOf(this.#finished),
      flags: traceFlags(this.#origin, this.spans.length > 0),
    };
    return this.#context;
  }
}

function spanIdOf(finished: Finished): string {
  return finished.kind === 'run'
    ? processSpanId(finished.uuid, finished)
    : sendSpanId(finished.uuid, finished.sent.name);
}
