/**
 * How long work shares the event loop with all else: it is done in steps, and after some ms of them others have their turn.
 * What the work is, nobody here knows.
 */

/** What to wait for before more is done. */
export type Turn = () => Promise<void>;

/** Asked between two steps: what to wait for before the next, once enough was done without a break. */
export type Pace = () => Promise<void> | undefined;

/** Of one who is at work, until the others have their turn. */
const WITHOUT_BREAK_MS = 6;
/** Of a turn of the event loop: until then another one begins, and may take it beyond that. */
const ANOTHER_MS = 3;

/**
 * Those who wait go on one after the other, in their order: in each turn of the event loop as many as it has time for. So
 * work has the same part of each turn, be it of one who does much or of many who do little.
 */
export function createTurns(): Turn {
  const waiting: (() => void)[] = [];
  let isAsked = false;

  /** @param due those who come in this turn wait for the next */
  function goOn(due: number, untilMs: number): void {
    if (due > 0 && performance.now() < untilMs) {
      waiting.shift()?.();
      // What one does next are microtasks, and a tick comes when there are none any more.
      queueMicrotask(() => process.nextTick(goOn, due - 1, untilMs));
      return;
    }
    isAsked = waiting.length > 0;
    if (isAsked) setImmediate(begin);
  }

  function begin(): void {
    goOn(waiting.length, performance.now() + ANOTHER_MS);
  }

  return () => {
    if (!isAsked) setImmediate(begin);
    isAsked = true;
    return new Promise((resolve) => waiting.push(resolve));
  };
}

/** For one piece of work, which begins now. */
export function createPace(turn: Turn): Pace {
  let untilMs = performance.now() + WITHOUT_BREAK_MS;
  return () => {
    if (performance.now() < untilMs) return undefined;
    return turn().then(() => {
      untilMs = performance.now() + WITHOUT_BREAK_MS;
    });
  };
}

/** Does a piece of work, step by step. @returns what comes out of it */
export async function inTurns<Result>(turn: Turn, steps: Iterator<unknown, Result>): Promise<Result> {
  const pace = createPace(turn);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    await pace();
  }
}
