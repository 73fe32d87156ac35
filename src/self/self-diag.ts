/**
 * Passes warnings and errors on to the diagnostics of the OpenTelemetry API, for a program that embeds the bridge and has
 * not asked to be told of anything. They are the lines of the log, as rarely; it loads no logger.
 */
import { diag } from '@opentelemetry/api';
import { boundedLines } from './log-rate.ts';
import type { Tell } from './self-event.ts';

/** @param now monotonic ms; tests give another */
export function createSelfDiag(now = (): number => performance.now()): Tell {
  const admitted = boundedLines((level) => level === 'warn' || level === 'error');
  return (event) => {
    const line = admitted(event, now());
    if (line !== undefined) diag[line.level](`celery-otel: ${line.text}`, line.fields);
  };
}
