/** The used heap after a full garbage collection. */
import { collectGarbage } from './collect-garbage.ts';

export function heapBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}
