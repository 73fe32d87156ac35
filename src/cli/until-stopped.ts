/**
 * Keeps a long-running job until it is over, a signal asks for its end or its starter is gone, and sees to it that the end
 * is in time. It knows nothing of what the job does.
 */
import type { CommandIo } from './command-io.ts';
import { EXIT_CODE, exitCodeOf, STOP_SIGNALS, type StopSignal } from './exit-code.ts';
import { watchStarter } from './starter.ts';

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

/** A Ctrl-C, or a signal to a whole group, comes a second time from npm and others that hand on what they get. */
const ECHO_MS = 1000;

/**
 * Starts the job and resolves once it is stopped: with why it was over, or `asked` where a signal came first or the
 * starter is gone. A signal that comes more than a moment later, or a job that does not keep its deadline, ends the
 * process by `exitNow`.
 * @param starterGone called before the job is stopped for that
 */
export async function untilStopped<T>(
  job: Job<T>,
  io: CommandIo,
  starterGone: () => void,
): Promise<T | 'asked'> {
  const asked = Promise.withResolvers<'asked'>();
  let guard: NodeJS.Timeout | undefined;
  let echo: NodeJS.Timeout | undefined;
  const ask = (): void => {
    guard = setTimeout(() => io.exitNow(EXIT_CODE.ok), GUARD_MS).unref();
    echo = setTimeout(() => {
      echo = undefined;
    }, ECHO_MS).unref();
    asked.resolve('asked');
  };
  const onSignal = (signal: StopSignal): void => {
    if (guard === undefined) ask();
    else if (echo === undefined) io.exitNow(exitCodeOf(signal));
  };
  const looksNoMore = watchStarter(io, () => {
    if (guard !== undefined) return;
    starterGone();
    ask();
  });
  for (const signal of STOP_SIGNALS) io.signals.on(signal, onSignal);
  try {
    job.start();
    const why = await Promise.race([asked.promise, job.finished]);
    await job.stop(STOP_MS);
    return why;
  } finally {
    looksNoMore();
    clearTimeout(guard);
    clearTimeout(echo);
    for (const signal of STOP_SIGNALS) io.signals.off(signal, onSignal);
  }
}
