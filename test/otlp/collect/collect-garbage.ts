/** A full garbage collection. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const gc: unknown = runInNewContext('gc');

export function collectGarbage(): void {
  if (typeof gc !== 'function') throw new Error('no garbage collector is exposed');
  gc();
}
