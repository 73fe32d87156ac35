/** The spans of a finished run or sending, and the ids for its log records and exemplars, which are made on demand. Pure. */
import type { Finished } from './ancestry/finished.ts';
import type { Span } from './span.ts';
import { processSpanId, sendSpanId } from './span-id.ts';
import { SAMPLED, type TraceContext, traceFlags } from './trace-context.ts';
import type { TraceOrigin } from './trace-origin.ts';

export interface Traced {
  /**
   * The ids of the span in which the worker ran the task, if the worker reported it; otherwise of the `process` span, or of the
   * `send` span for a lone sending, even if that span was dropped. Undefined if the root is unknown.
   */
  readonly context: TraceContext | undefined;
  /** Whether the span of `context` is exported; for a worker's span, whether it has the sampled flag. */
  readonly isKept: boolean;
  /** The spans to export, parents first. */
  readonly spans: readonly Span[];
  /** Whether it was dropped because its trace is unknown. */
  readonly droppedUnknownRoot?: boolean;
  /** Whether its trace is not decided: it is held, and `isKept` may become true. */
  readonly isHeld?: boolean;
}

const NONE: readonly Span[] = [];

/** For a run whose root is unknown, because its receipt was missed. */
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

  /** @param worker the span in which the worker ran the task */
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

/** A run or a sending that is held until its trace is decided. */
export class HeldRun extends TracedInto {
  readonly isHeld = true;
}

function spanIdOf(finished: Finished): string {
  return finished.kind === 'run'
    ? processSpanId(finished.uuid, finished)
    : sendSpanId(finished.uuid, finished.sent);
}
