/** With which numbers the process may end. */
import { constants } from 'node:os';

export const EXIT_CODE = {
  /** Done, or stopped when asked to. */
  ok: 0,
  /** Something that should not happen, or a file that cannot be written. */
  failed: 1,
  /** EX_CONFIG of sysexits.h: wrong options or an unknown command; nothing was started. */
  misconfigured: 78,
} as const;

/** The signals that ask the process to end. SIGHUP is none of them: it ends the process as it does by default. */
export type StopSignal = 'SIGTERM' | 'SIGINT';
export const STOP_SIGNALS: readonly StopSignal[] = ['SIGTERM', 'SIGINT'];

/** What a shell reports of a process that was ended by a signal. */
export function exitCodeOf(signal: StopSignal): number {
  return 128 + constants.signals[signal];
}
