/**
 * What is to be expected of a run or a sending at some moment: whether it runs, waits, or is no longer waited for. Settling
 * acts on it and a view shows it. Pure: it changes nothing.
 */
import { EXPECTED_MS, hasPassed } from './lateness.ts';
import type { Run, Sending } from './run.ts';
import type { Task } from './task.ts';

/** When, and after which gaps. */
export interface OutlookMoment {
  /** Epoch ms. */
  readonly wallMs: number;
  /** The connection to the broker, counted. */
  readonly session: number;
}

/** `scheduled`: it waits for its ETA. `doubted` and `gone` are standings that the run is to have. `none`: nothing is. */
export type RunOutlook = 'running' | 'waiting' | 'scheduled' | 'doubted' | 'gone' | 'none';

export type SendingOutlook = Extract<RunOutlook, 'waiting' | 'scheduled' | 'none'>;

/** Whether nothing has been heard of a task for as long as a run of it is waited for. */
export function isSilent(lastHeardMs: number, listenedMs: number): boolean {
  return hasPassed(EXPECTED_MS, lastHeardMs, listenedMs);
}

/** @param silent nothing has been heard of the task for as long as a run of it is waited for */
export function runOutlook(run: Run, task: Task, silent: boolean, at: OutlookMoment): RunOutlook {
  if (!run.isExpected) return 'none';
  if (run.hasStarted) return 'running';
  // Events may have been missed: whether it still waits is known once more is told of it.
  if (run.session < at.session) return 'doubted';
  // Another worker was given it.
  if (task.over || run.standing === 'redelivered') return 'gone';
  if (isPast(run.expiresMs, at.wallMs)) return 'none';
  // Without an ETA it waits, however wrong the worker's clock is.
  if (run.stage === 'scheduled' && run.sinceMs > at.wallMs) return 'scheduled';
  if (silent && run.instance.dropped !== undefined && isLongDue(run.sinceMs, at.wallMs)) return 'doubted';
  return 'waiting';
}

/** @param silent as for `runOutlook` */
export function sendingOutlook(
  sending: Sending,
  task: Task,
  silent: boolean,
  at: OutlookMoment,
): SendingOutlook {
  const { session, sentMs, etaMs = sentMs } = sending;
  if (task.over || session < at.session || isPast(sending.expiresMs, at.wallMs)) return 'none';
  const isDelayed = etaMs > sentMs;
  if (silent && (!isDelayed || isLongDue(etaMs, at.wallMs))) return 'none';
  return isDelayed && etaMs > at.wallMs ? 'scheduled' : 'waiting';
}

/** Whether a run of what is due since then, by some wall clock, is waited for no longer. */
function isLongDue(sinceMs: number, wallMs: number): boolean {
  return hasPassed(EXPECTED_MS, sinceMs, wallMs);
}

function isPast(timeMs: number | undefined, nowMs: number): boolean {
  return timeMs !== undefined && timeMs <= nowMs;
}
