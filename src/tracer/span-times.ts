/**
 * Chooses when a span starts and ends, from times by the clocks of several hosts. Any of these times may be missing. A time is
 * never corrected for clock skew. The one exception is a sending: its span may start with the receipt, since Celery publishes
 * the task before it stamps `task-sent`. Pure.
 */
import type { Finished, FinishedRun, SentFacts } from './ancestry/finished.ts';

export interface SpanTimes {
  readonly startMs: number;
  readonly endMs: number;
}

/** The latest time, ms, that fits into 64 unsigned bits as nanoseconds. */
const TIME_MAX_MS = 1.8e13;
/** A receipt that is earlier than its sending by at most this is used as the time of the sending. */
const PUBLISHED_EARLIER_MAX_MS = 1000;

export function processTimes(run: FinishedRun): SpanTimes {
  const runtimeMs = runtimeOf(run);
  const startedMs = known(run.startedMs);
  const endedMs = known(run.endedMs);
  const lastMs = endedMs ?? known(run.reportedMs);
  if (run.outcome === 'succeeded' && runtimeMs !== undefined) {
    // The pool process measured the runtime. The end was stamped later, and the start by another process.
    const endMs = startedMs === undefined ? lastMs : endedMs;
    const startMs = earlier(startedMs, endMs === undefined ? undefined : known(endMs - runtimeMs));
    if (startMs !== undefined) return { startMs, endMs: known(startMs + runtimeMs) ?? startMs };
  }
  const startMs = startedMs ?? known(run.receivedMs) ?? lastMs ?? 0;
  return { startMs, endMs: Math.max(startMs, lastMs ?? startMs) };
}

/** The time of a sending: its span has no duration. */
export function sendMs(sent: SentFacts, finished: Finished): number {
  const sentMs = known(sent.sentMs);
  const receivedMs = finished.kind === 'run' ? known(finished.receivedMs) : undefined;
  if (sentMs === undefined) return receivedMs ?? known(finished.reportedMs) ?? 0;
  const isPublishedEarlier =
    receivedMs !== undefined && receivedMs < sentMs && sentMs - receivedMs <= PUBLISHED_EARLIER_MAX_MS;
  return isPublishedEarlier ? receivedMs : sentMs;
}

/** The duration of a run; undefined if it has not started. */
export function durationMs(run: FinishedRun, { startMs, endMs }: SpanTimes): number | undefined {
  const hasStarted = known(run.startedMs) !== undefined || runtimeOf(run) !== undefined;
  return hasStarted ? endMs - startMs : undefined;
}

function runtimeOf({ runtimeS }: FinishedRun): number | undefined {
  return runtimeS !== undefined && runtimeS >= 0 ? known(runtimeS * 1000) : undefined;
}

function earlier(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}

function known(ms: number | undefined): number | undefined {
  return ms !== undefined && ms >= 0 && ms <= TIME_MAX_MS ? ms : undefined;
}
