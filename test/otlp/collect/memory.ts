/** The used heap after a full garbage collection. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const gc: unknown = runInNewContext('gc');

export function heapBytes(): number {
  if (typeof gc !== 'function') throw new Error('no garbage collector is exposed');
  gc();
  return process.memoryUsage().heapUsed;
}
