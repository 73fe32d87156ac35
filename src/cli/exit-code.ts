/** The exit codes of the process, and the signals that stop it. */

export const EXIT_CODE = {
  /** Done, or stopped when asked to. */
  ok: 0,
  /** An unexpected error, or a file that cannot be written; of `check`, warnings with `--strict`. */
  failed: 1,
  /** `check` has found failures. */
  found: 2,
  /** EX_CONFIG of sysexits.h: wrong options or an unknown command; nothing was started. */
  misconfigured: 78,
} as const;

/** The signals that stop the process gracefully. SIGHUP keeps its default: it kills the process. */
export type StopSignal = 'SIGTERM' | 'SIGINT';
export const STOP_SIGNALS: readonly StopSignal[] = ['SIGTERM', 'SIGINT'];
