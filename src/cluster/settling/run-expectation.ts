/**
 * Decides what to expect of a run or a sending at a moment: that it runs, that it waits, or that no end of it will arrive.
 * Settling acts on the result, and a view shows it. Pure: it changes nothing.
 */

import type { Run, Sending } from '../tasks/run.ts';
import type { StandingFact } from '../tasks/standing.ts';
import type { Task } from '../tasks/task.ts';
import { EXPECTED_MS, hasPassed, SCHEDULED_MS_MAX } from '../window/lateness.ts';

/** The time and the connection for which an expectation holds. */
export interface ExpectationMoment {
  /** The current time, epoch ms. */
  readonly wallMs: number;
  /** The number of the current broker connection. */
  readonly session: number;
  /** The current time, in listened time, ms. */
  readonly listenedMs: number;
}

/**
 * `scheduled`: the run waits for its ETA. `endMissed` and `leftBehind`: this fact has become known, so that no end is expected.
 * `none`: no end is expected.
 */
export type RunExpectation =
  | 'running'
  | 'waiting'
  | 'scheduled'
  | Extract<StandingFact, 'endMissed' | 'leftBehind'>
  | 'none';

export type SendingExpectation = Extract<RunExpectation, 'waiting' | 'scheduled' | 'none'>;

/** Whether no event of a task has arrived for so long that none is expected any more. */
export function isSilent(silentMs: number): boolean {
  return silentMs >= EXPECTED_MS;
}

/** What to expect of a run. @param silentMs how long ago the last event of the task arrived */
export function expectationOfRun(
  run: Run,
  task: Task,
  silentMs: number,
  at: ExpectationMoment,
): RunExpectation {
  if (!run.isExpected) return 'none';
  if (run.hasStarted) return 'running';
  // Events may have been missed since the last one: only another event can show whether the run still waits.
  if (run.session < at.session) return 'endMissed';
  // Another process has the task, or has ended it.
  if (task.over || run.standing === 'redelivered') return 'leftBehind';
  if (isPast(run.expiresMs, at.wallMs)) return 'none';
  // A known worker keeps a run until it is due, however far its ETA is.
  const silentMaxMs = run.instance.dropped === undefined ? Number.POSITIVE_INFINITY : SCHEDULED_MS_MAX;
  if (isForgotten(run.sinceMs, silentMs, at.wallMs, silentMaxMs)) return 'endMissed';
  // A run without an ETA waits, however wrong the worker's clock is.
  return run.stage === 'scheduled' && run.sinceMs > at.wallMs ? 'scheduled' : 'waiting';
}

/** What to expect of a sending that no worker has received. @param silentMs how long ago the last event of the task arrived */
export function expectationOfSending(
  sending: Sending,
  task: Task,
  silentMs: number,
  at: ExpectationMoment,
): SendingExpectation {
  const { session, sentMs, etaMs = sentMs } = sending;
  if (task.over || session < at.session || isPast(sending.expiresMs, at.wallMs)) return 'none';
  // The message was purged, has expired, or was received by a worker that sends no events.
  if (sending.cohort?.isGone === true) return 'none';
  const isDelayed = etaMs > sentMs;
  if (isDelayed ? isForgotten(etaMs, silentMs, at.wallMs) : isSilent(silentMs)) return 'none';
  return isDelayed && etaMs > at.wallMs ? 'scheduled' : 'waiting';
}

/** Whether a task is no longer expected: silent until long after it was due, or for `silentMaxMs`, whatever its ETA. */
function isForgotten(
  dueMs: number,
  silentMs: number,
  nowMs: number,
  silentMaxMs = SCHEDULED_MS_MAX,
): boolean {
  return silentMs >= silentMaxMs || (isSilent(silentMs) && hasPassed(EXPECTED_MS, dueMs, nowMs));
}

function isPast(timeMs: number | undefined, nowMs: number): boolean {
  return timeMs !== undefined && timeMs <= nowMs;
}
