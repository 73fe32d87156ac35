/**
 * When a span begins and ends, from times by the clocks of several hosts, any of which may be missing. A time is never moved to
 * make clocks agree: only a sending may begin with its receipt, since Celery publishes before it reports. Pure.
 */
import type { Finished, FinishedRun, SentFacts } from './ancestry/finished.ts';

export interface SpanTimes {
  readonly startMs: number;
  readonly endMs: number;
}

/** Nanoseconds as unsigned 64-bit integers end here. */
const TIME_MAX_MS = 1.8e13;
/** A receipt that is reported as earlier than its sending by no more than this is taken as the sending. */
const PUBLISHED_EARLIER_MAX_MS = 1000;

export function processTimes(run: FinishedRun): SpanTimes {
  const runtimeMs = runtimeOf(run);
  const startedMs = known(run.startedMs);
  const endedMs = known(run.endedMs);
  const lastMs = endedMs ?? known(run.reportedMs);
  if (run.outcome === 'succeeded' && runtimeMs !== undefined) {
    // The runtime was measured in the pool process; the end was stamped after that, and the start elsewhere.
    const endMs = startedMs === undefined ? lastMs : endedMs;
    const startMs = earlier(startedMs, endMs === undefined ? undefined : known(endMs - runtimeMs));
    if (startMs !== undefined) return { startMs, endMs: known(startMs + runtimeMs) ?? startMs };
  }
  const startMs = startedMs ?? known(run.receivedMs) ?? lastMs ?? 0;
  return { startMs, endMs: Math.max(startMs, lastMs ?? startMs) };
}

/** A moment. */
export function sendMs(sent: SentFacts, finished: Finished): number {
  const sentMs = known(sent.sentMs);
  const receivedMs = finished.kind === 'run' ? known(finished.receivedMs) : undefined;
  if (sentMs === undefined) return receivedMs ?? known(finished.reportedMs) ?? 0;
  const isPublishedEarlier =
    receivedMs !== undefined && receivedMs < sentMs && sentMs - receivedMs <= PUBLISHED_EARLIER_MAX_MS;
  return isPublishedEarlier ? receivedMs : sentMs;
}

/** Of a run that has started; undefined otherwise. */
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
