/**
 * Runs a job until it finishes, a signal arrives or its starter has ended, and enforces a deadline for stopping. It
 * knows nothing about the job.
 */
import { constants } from 'node:os';
import type { CommandIo } from './command-io.ts';
import { EXIT_CODE, STOP_SIGNALS, type StopSignal } from './exit-code.ts';
import { watchStarter } from './starter.ts';

export interface Job<T> {
  /** Called after signal handlers are installed. */
  start(): void;
  /** Resolves with the reason when there is nothing more to do; rejects if the job failed. */
  readonly finished: Promise<T>;
  /** Stops the job within the deadline. */
  stop(deadlineMs: number): Promise<unknown>;
}

/** The deadline for the job to stop. */
const STOP_MS = 4000;
/** Then the process exits anyway, a little before the promised 5 s, after which orchestrators may kill it. */
const EXIT_DEADLINE_MS = 4800;

/**
 * A second signal within this time is an echo: npm and others forward signals, so Ctrl-C, or a signal to a process
 * group, arrives twice.
 */
const ECHO_MS = 1000;

/**
 * Starts the job, and resolves after it was stopped: with its own reason, or with `asked` after a signal or the end of
 * the starter. A second signal (except for an echo of the first), or a missed deadline, exits the process through
 * `exitNow`.
 * @param starterGone called before the job is stopped because its starter has ended
 */
export async function untilStopped<T>(
  job: Job<T>,
  io: CommandIo,
  starterGone: () => void,
): Promise<T | 'asked'> {
  const asked = Promise.withResolvers<'asked'>();
  let guard: NodeJS.Timeout | undefined;
  let echo: NodeJS.Timeout | undefined;
  const requestStop = (): void => {
    guard = setTimeout(() => io.exitNow(EXIT_CODE.ok), EXIT_DEADLINE_MS).unref();
    echo = setTimeout(() => {
      echo = undefined;
    }, ECHO_MS).unref();
    asked.resolve('asked');
  };
  const onSignal = (signal: StopSignal): void => {
    if (guard === undefined) requestStop();
    // The exit code of a process that was killed by the signal.
    else if (echo === undefined) io.exitNow(128 + constants.signals[signal]);
  };
  const stopWatching = watchStarter(io, () => {
    if (guard !== undefined) return;
    starterGone();
    requestStop();
  });
  for (const signal of STOP_SIGNALS) io.signals.on(signal, onSignal);
  try {
    job.start();
    const why = await Promise.race([asked.promise, job.finished]);
    await job.stop(STOP_MS);
    return why;
  } finally {
    stopWatching();
    clearTimeout(guard);
    clearTimeout(echo);
    for (const signal of STOP_SIGNALS) io.signals.off(signal, onSignal);
  }
}
