/**
 * What to expect of a run or a sending at a moment: whether it runs, waits, or is no longer expected. Settling acts on it,
 * and a view shows it. Pure: it changes nothing.
 */

import type { Run, Sending } from '../tasks/run.ts';
import type { StandingFact } from '../tasks/standing.ts';
import type { Task } from '../tasks/task.ts';
import { EXPECTED_MS, hasPassed, SCHEDULED_MS_MAX } from '../window/lateness.ts';

export interface ExpectationMoment {
  /** Epoch ms. */
  readonly wallMs: number;
  /** The number of the current broker connection. */
  readonly session: number;
  /** In listened time. */
  readonly listenedMs: number;
}

/** `scheduled`: it waits for its ETA. `endMissed` and `leftBehind`: what is now known of it. `none`: it is not expected to end. */
export type RunExpectation =
  | 'running'
  | 'waiting'
  | 'scheduled'
  | Extract<StandingFact, 'endMissed' | 'leftBehind'>
  | 'none';

export type SendingExpectation = Extract<RunExpectation, 'waiting' | 'scheduled' | 'none'>;

/** Whether no event of a task has arrived for as long as a run of it is expected. */
export function isSilent(silentMs: number): boolean {
  return silentMs >= EXPECTED_MS;
}

/** @param silentMs how long ago the last event of the task arrived */
export function expectationOfRun(
  run: Run,
  task: Task,
  silentMs: number,
  at: ExpectationMoment,
): RunExpectation {
  if (!run.isExpected) return 'none';
  if (run.hasStarted) return 'running';
  // Events may have been missed: only another event can show whether it still waits.
  if (run.session < at.session) return 'endMissed';
  // Another worker has the task.
  if (task.over || run.standing === 'redelivered') return 'leftBehind';
  if (isPast(run.expiresMs, at.wallMs)) return 'none';
  // A known worker keeps it until it is due, however far its ETA is.
  const mostMs = run.instance.dropped === undefined ? Number.POSITIVE_INFINITY : SCHEDULED_MS_MAX;
  if (isForgotten(run.sinceMs, silentMs, at.wallMs, mostMs)) return 'endMissed';
  // Without an ETA it waits, however wrong the worker's clock is.
  return run.stage === 'scheduled' && run.sinceMs > at.wallMs ? 'scheduled' : 'waiting';
}

/** @param silentMs how long ago the last event of the task arrived */
export function expectationOfSending(
  sending: Sending,
  task: Task,
  silentMs: number,
  at: ExpectationMoment,
): SendingExpectation {
  const { session, sentMs, etaMs = sentMs } = sending;
  if (task.over || session < at.session || isPast(sending.expiresMs, at.wallMs)) return 'none';
  // It was purged, has expired, or its worker sends no events.
  if (sending.cohort?.isGone === true) return 'none';
  const isDelayed = etaMs > sentMs;
  if (isDelayed ? isForgotten(etaMs, silentMs, at.wallMs) : isSilent(silentMs)) return 'none';
  return isDelayed && etaMs > at.wallMs ? 'scheduled' : 'waiting';
}

/** Whether a task is no longer expected: silent until long after it was due, or for `mostMs`, whatever its ETA. */
function isForgotten(dueMs: number, silentMs: number, nowMs: number, mostMs = SCHEDULED_MS_MAX): boolean {
  return silentMs >= mostMs || (isSilent(silentMs) && hasPassed(EXPECTED_MS, dueMs, nowMs));
}

function isPast(timeMs: number | undefined, nowMs: number): boolean {
  return timeMs !== undefined && timeMs <= nowMs;
}
