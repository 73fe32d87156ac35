/**
 * The context in which the bridge works: none of its connections and requests becomes a span of an instrumented program that
 * embeds it, or is below one. It makes no spans.
 */
import { context, ROOT_CONTEXT } from '@opentelemetry/api';
import { suppressTracing } from '@opentelemetry/core';

/** What is begun here, timers and sockets included, stays in that context. */
export function untraced<Result>(begin: () => Result): Result {
  return context.with(suppressTracing(ROOT_CONTEXT), begin);
}
