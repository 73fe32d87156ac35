/** Measures how long work blocks the event loop. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { slowness } from './processor-time.ts';

/**
 * The longest event loop turn during the work, in ms of this thread’s processor time on a normal machine: time of other
 * processes and threads is not counted.
 */
export async function longestTurnMs(work: () => Promise<unknown>): Promise<number> {
  const before = slowness();
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
  return longestMs / Math.max(before, slowness());
}
