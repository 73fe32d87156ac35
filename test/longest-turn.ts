/** Measures how long work holds up everything else in its process. */
import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * The longest time that the event loop went without a turn for others while the work was done, in ms of this thread’s
 * processor time: what other processes, or other threads, take of a core is not counted.
 */
export async function longestTurnMs(work: () => Promise<unknown>): Promise<number> {
  let longestMs = 0;
  let isOver = false;
  async function watch(): Promise<void> {
    while (!isOver) {
      const before = process.threadCpuUsage();
      await nextTurn();
      const { user, system } = process.threadCpuUsage(before);
      longestMs = Math.max(longestMs, (user + system) / 1000);
    }
  }
  const watching = watch();
  await work();
  isOver = true;
  await watching;
  return longestMs;
}
