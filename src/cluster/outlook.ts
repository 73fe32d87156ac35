/**
 * What to expect of a run or a sending at a moment: whether it runs, waits, or is no longer expected. Settling acts on it,
 * and a view shows it. Pure: it changes nothing.
 */
import { EXPECTED_MS, hasPassed, SCHEDULED_MS_MAX } from './lateness.ts';
import type { Run, Sending } from './run.ts';
import type { Task } from './task.ts';

export interface OutlookMoment {
  /** Epoch ms. */
  readonly wallMs: number;
  /** The number of the current broker connection. */
  readonly session: number;
}

/** `scheduled`: it waits for its ETA. `doubted` and `gone`: the run’s next standing. `none`: it is not expected to end. */
export type RunOutlook = 'running' | 'waiting' | 'scheduled' | 'doubted' | 'gone' | 'none';

export type SendingOutlook = Extract<RunOutlook, 'waiting' | 'scheduled' | 'none'>;

/** Whether no event of a task has arrived for as long as a run of it is expected. */
export function isSilent(lastEventMs: number, listenedMs: number): boolean {
  return hasPassed(EXPECTED_MS, lastEventMs, listenedMs);
}

/** @param silent see `isSilent` */
export function runOutlook(run: Run, task: Task, silent: boolean, at: OutlookMoment): RunOutlook {
  if (!run.isExpected) return 'none';
  if (run.hasStarted) return 'running';
  // Events may have been missed: only another event can show whether it still waits.
  if (run.session < at.session) return 'doubted';
  // Another worker has the task.
  if (task.over || run.standing === 'redelivered') return 'gone';
  if (isPast(run.expiresMs, at.wallMs)) return 'none';
  // Without an ETA it waits, however wrong the worker's clock is.
  if (run.stage === 'scheduled' && run.sinceMs > at.wallMs) return 'scheduled';
  if (silent && run.instance.dropped !== undefined && hasPassed(EXPECTED_MS, run.sinceMs, at.wallMs))
    return 'doubted';
  return 'waiting';
}

/** @param silent see `isSilent` */
export function sendingOutlook(
  sending: Sending,
  task: Task,
  silent: boolean,
  at: OutlookMoment,
): SendingOutlook {
  const { session, sentMs, etaMs = sentMs } = sending;
  if (task.over || session < at.session || isPast(sending.expiresMs, at.wallMs)) return 'none';
  const isDelayed = etaMs > sentMs;
  const isForgotten =
    hasPassed(EXPECTED_MS, etaMs, at.wallMs) || hasPassed(SCHEDULED_MS_MAX, sentMs, at.wallMs);
  if (silent && (!isDelayed || isForgotten)) return 'none';
  return isDelayed && etaMs > at.wallMs ? 'scheduled' : 'waiting';
}

function isPast(timeMs: number | undefined, nowMs: number): boolean {
  return timeMs !== undefined && timeMs <= nowMs;
}
