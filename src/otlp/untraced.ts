/**
 * Runs the bridge in a context without tracing, so that an instrumented program that embeds it gets no spans for the bridge’s
 * connections and requests. It makes no spans.
 */
import { context, ROOT_CONTEXT } from '@opentelemetry/api';
import { suppressTracing } from '@opentelemetry/core';

/** Everything that `begin` starts, timers and sockets included, stays in that context. */
export function untraced<Result>(begin: () => Result): Result {
  return context.with(suppressTracing(ROOT_CONTEXT), begin);
}
