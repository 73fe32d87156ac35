/**
 * The ids of spans that a TracerProvider of the embedding program makes: those that follow from Celery's for ours, and the
 * program’s own for all others. It makes no spans.
 */

/** As in `@opentelemetry/sdk-trace`, which is only needed for this type. */
export interface SpanIds {
  generateTraceId(): string;
  generateSpanId(): string;
}

/** The ids of one span; the trace id if it has no parent. */
interface Ids {
  readonly traceId: string | undefined;
  readonly spanId: string;
}

export interface IdGenerator extends SpanIds {
  /** The span that is started meanwhile, synchronously, gets these ids. For a bridge only. */
  handing<Result>(ids: Ids, start: () => Result): Result;
}

const TRACE_DIGITS = 32;
const SPAN_DIGITS = 16;

/**
 * Creates the generator that a TracerProvider and a bridge are both given.
 * @param otherwise makes the ids of all spans that are not the bridge’s; by default they are random
 */
export function createIdGenerator(otherwise: SpanIds = RANDOM): IdGenerator {
  let handed: Partial<Ids> = {};
  return {
    // Each is handed over once: a processor may start its own spans in between.
    generateTraceId() {
      const { traceId, ...rest } = handed;
      handed = rest;
      return traceId ?? otherwise.generateTraceId();
    },
    generateSpanId() {
      const { spanId, ...rest } = handed;
      handed = rest;
      return spanId ?? otherwise.generateSpanId();
    },
    handing(ids, start) {
      handed = ids;
      try {
        return start();
      } finally {
        handed = {};
      }
    },
  };
}

const RANDOM: SpanIds = {
  generateTraceId: () => randomDigits(TRACE_DIGITS),
  generateSpanId: () => randomDigits(SPAN_DIGITS),
};

const WORD_DIGITS = 8;

/** As random as those of the SDK. */
function randomDigits(digits: number): string {
  let made = '';
  while (made.length < digits) {
    // At least 1: an id of zeros only is invalid.
    const word = 1 + Math.floor(Math.random() * (2 ** 32 - 1));
    made += word.toString(16).padStart(WORD_DIGITS, '0');
  }
  return made;
}
