/**
 * Limits work that anybody may request, however often: pieces run one at a time, and take at most a tenth of the time. It does
 * not know what the work is.
 */
import { setTimeout as delay } from 'node:timers/promises';

/** The pause after a piece is this many times as long as it took. */
const PAUSE_TIMES = 9;
const PAUSE_MS_MAX = 30_000;
/** How many requests may wait; further ones are refused. */
const WAITING_MAX = 64;

/** Runs the work when it is its turn. Rejects if too many requests wait, or if the work rejects. */
export type InTurn = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** @param pause for tests; by default it keeps no process alive */
export function createTurns(
  pause: (ms: number) => Promise<void> = (ms) => delay(ms, undefined, { ref: false }),
): InTurn {
  let turn: Promise<void> = Promise.resolve();
  let waiting = 0;

  return async (work) => {
    if (waiting >= WAITING_MAX) throw new Error('too many requests wait for their turn');
    const before = turn;
    const { promise, resolve } = Promise.withResolvers<void>();
    turn = promise;
    waiting += 1;
    await before;
    waiting -= 1;
    const beganMs = performance.now();
    try {
      return await work();
    } finally {
      const pauseMs = Math.min(PAUSE_MS_MAX, PAUSE_TIMES * (performance.now() - beganMs));
      void pause(pauseMs).then(resolve);
    }
  };
}
