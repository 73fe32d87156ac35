/**
 * Keeps a long-running job until it is over or a signal asks for its end, and sees to it that the end is in time. It
 * knows nothing of what the job does.
 */
import type { CommandIo } from './command-io.ts';
import { EXIT_CODE, exitCodeOf, STOP_SIGNALS, type StopSignal } from './exit-code.ts';

export interface Job<T> {
  /** Called once signals are heeded, so that none finds the process unprepared. */
  start(): void;
  /** Resolves when there is nothing more to do, with why; rejects if the job failed. */
  readonly finished: Promise<T>;
  /** Ends the job within the deadline. */
  stop(deadlineMs: number): Promise<unknown>;
}

/** What the job is granted for its end. */
const STOP_MS = 4000;
/** The end of all patience, a little before the 5 s that were promised: orchestrators kill soon after. */
const GUARD_MS = 4800;

/**
 * Starts the job and resolves once it is stopped: with why it was over, or `asked` where a signal came first. A second signal, or a
 * job that does not keep its deadline, ends the process by `exitNow`.
 */
export async function untilStopped<T>(job: Job<T>, io: CommandIo): Promise<T | 'asked'> {
  const asked = Promise.withResolvers<'asked'>();
  let guard: NodeJS.Timeout | undefined;
  const onSignal = (signal: StopSignal): void => {
    if (guard !== undefined) {
      io.exitNow(exitCodeOf(signal));
      return;
    }
    guard = setTimeout(() => io.exitNow(EXIT_CODE.ok), GUARD_MS).unref();
    asked.resolve('asked');
  };
  for (const signal of STOP_SIGNALS) io.signals.on(signal, onSignal);
  try {
    job.start();
    const why = await Promise.race([asked.promise, job.finished]);
    await job.stop(STOP_MS);
    return why;
  } finally {
    clearTimeout(guard);
    for (const signal of STOP_SIGNALS) io.signals.off(signal, onSignal);
  }
}
