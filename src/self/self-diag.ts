/**
 * Sends warnings and errors to `diag` of the OpenTelemetry API, for programs that embed the bridge without a `report` of
 * their own. Lines and rate limits are those of the log; it loads no logger.
 */
import { diag } from '@opentelemetry/api';
import { boundedLines } from './log-rate.ts';
import type { EventSink } from './self-event.ts';

/** @param now monotonic ms; replaced in tests */
export function createSelfDiag(now = (): number => performance.now()): EventSink {
  const admitted = boundedLines((level) => level === 'warn' || level === 'error');
  return (event) => {
    const line = admitted(event, now());
    if (line !== undefined) diag[line.level](`celery-otel: ${line.text}`, line.fields);
  };
}
