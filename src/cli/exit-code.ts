/** The exit codes of the process, and the signals that stop it. */
import { constants } from 'node:os';

export const EXIT_CODE = {
  /** Done, or stopped when asked to. */
  ok: 0,
  /** An unexpected error, or a file that cannot be written. */
  failed: 1,
  /** EX_CONFIG of sysexits.h: wrong options or an unknown command; nothing was started. */
  misconfigured: 78,
} as const;

/** The signals that stop the process gracefully. SIGHUP keeps its default: it kills the process. */
export type StopSignal = 'SIGTERM' | 'SIGINT';
export const STOP_SIGNALS: readonly StopSignal[] = ['SIGTERM', 'SIGINT'];

/** The exit code that shells report for a process killed by a signal. */
export function exitCodeOf(signal: StopSignal): number {
  return 128 + constants.signals[signal];
}
