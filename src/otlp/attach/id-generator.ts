/**
 * Generates the span ids of a TracerProvider of the embedding program. Spans of the bridge get ids derived from those of Celery;
 * all others get the ids of the program’s generator. It makes no spans.
 */

/** The `IdGenerator` of `@opentelemetry/sdk-trace`, copied to avoid a dependency for one type. */
export interface SpanIds {
  generateTraceId(): string;
  generateSpanId(): string;
}

/** The ids of one span. The trace id is undefined if the span has a parent. */
interface Ids {
  readonly traceId: string | undefined;
  readonly spanId: string;
}

export interface IdGenerator extends SpanIds {
  /** Gives these ids to the span that `start` starts synchronously. For the bridge only. */
  handing<Result>(ids: Ids, start: () => Result): Result;
}

const TRACE_DIGITS = 32;
const SPAN_DIGITS = 16;

/**
 * Creates the generator to pass to both a TracerProvider and a bridge.
 * @param otherwise generates the ids of all other spans; default: random ids
 */
export function createIdGenerator(otherwise: SpanIds = RANDOM): IdGenerator {
  let handed: Partial<Ids> = {};
  return {
    // Each id is used once, because a processor may start other spans before `start` returns.
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

/** Uses the same source of randomness as the SDK. */
function randomDigits(digits: number): string {
  let made = '';
  while (made.length < digits) {
    // At least 1, because an id of all zeros is invalid.
    const word = 1 + Math.floor(Math.random() * (2 ** 32 - 1));
    made += word.toString(16).padStart(WORD_DIGITS, '0');
  }
  return made;
}
