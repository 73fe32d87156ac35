/**
 * Keeps long work from blocking the event loop: the work runs in steps, and yields after some milliseconds. It does not
 * know what the work is.
 */

/** Resolves when it is the caller’s turn to continue. */
export type YieldToLoop = () => Promise<void>;

/** Called between two steps: returns a promise to await if it is time to yield, else undefined. */
export type Pace = () => Promise<void> | undefined;

/** How long one piece of work runs before it yields. */
const YIELD_AFTER_MS = 6;
/** For how long waiters are resumed in one turn of the event loop. */
const RESUME_FOR_MS = 3;

/**
 * Resumes waiters in the order of their arrival, in each turn of the event loop as many as `RESUME_FOR_MS` allows. So all work
 * together gets the same share of each turn, whether it is one large piece or many small ones.
 */
export function createYieldToLoop(): YieldToLoop {
  const waiting: (() => void)[] = [];
  let isScheduled = false;

  /** @param due how many to resume; waiters that join during this turn wait for the next one */
  function resumeNext(due: number, deadlineMs: number): void {
    if (due > 0 && performance.now() < deadlineMs) {
      waiting.shift()?.();
      // The waiter continues in microtasks; the next tick runs when they are done.
      queueMicrotask(() => process.nextTick(resumeNext, due - 1, deadlineMs));
      return;
    }
    isScheduled = waiting.length > 0;
    if (isScheduled) setImmediate(resumeAll);
  }

  function resumeAll(): void {
    resumeNext(waiting.length, performance.now() + RESUME_FOR_MS);
  }

  return () => {
    if (!isScheduled) setImmediate(resumeAll);
    isScheduled = true;
    return new Promise((resolve) => waiting.push(resolve));
  };
}

/** The pace of one piece of work that starts now. */
export function createPace(yieldToLoop: YieldToLoop): Pace {
  let deadlineMs = performance.now() + YIELD_AFTER_MS;
  return () => {
    if (performance.now() < deadlineMs) return undefined;
    return yieldToLoop().then(() => {
      deadlineMs = performance.now() + YIELD_AFTER_MS;
    });
  };
}

/** Runs all steps, and yields between them when it is time. @returns the value that the last step returns */
export async function runCooperatively<Result>(
  yieldToLoop: YieldToLoop,
  steps: Iterator<unknown, Result>,
): Promise<Result> {
  const pace = createPace(yieldToLoop);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    await pace();
  }
}
