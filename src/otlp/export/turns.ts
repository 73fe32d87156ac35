/** Lets those who have much to do go on one after the other, each in a turn of the event loop of its own. */
import { setImmediate as nextTurn } from 'node:timers/promises';

/** @returns what to wait for before each piece of work: of several who wait, one goes on in each turn */
export function createTurns(): () => Promise<void> {
  let last: Promise<void> = Promise.resolve();
  return () => {
    last = last.then(() => nextTurn());
    return last;
  };
}
