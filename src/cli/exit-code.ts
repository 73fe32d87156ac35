/** The exit codes of the process, and the signals that stop it. */

export const EXIT_CODE = {
  /** Finished, or stopped on request. */
  ok: 0,
  /** An unexpected error, or a file that cannot be written. */
  failed: 1,
  /** The verdicts of `check`. */
  degraded: 1,
  down: 2,
  /** EX_CONFIG of sysexits.h: wrong options or an unknown command; nothing was started. */
  misconfigured: 78,
} as const;

/** The signals that stop the process gracefully. A closing terminal sends SIGHUP; there is nothing to reload. */
export const STOP_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
export type StopSignal = (typeof STOP_SIGNALS)[number];
