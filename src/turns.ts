/**
 * How long work shares the event loop with all else: it is done in steps, and after some ms of them others have their turn.
 * What the work is, nobody here knows.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';

/** What to wait for before more is done. */
export type Turn = () => Promise<void>;

/** Asked between two steps: what to wait for before the next, once enough was done without a break. */
export type Pace = () => Promise<void> | undefined;

/** Several who are at work have their turns one after the other. */
const WITHOUT_BREAK_MS = 10;

/** Of several who wait, one goes on in each turn of the event loop. */
export function createTurns(): Turn {
  let last: Promise<void> = Promise.resolve();
  return () => {
    last = last.then(() => nextTurn());
    return last;
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
