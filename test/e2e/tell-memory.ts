/**
 * Imported into the process of a bridge before anything else: on SIGUSR2 it collects all garbage and writes how many bytes
 * it held at most outside of the heap since the last time, and how many it holds of all. It needs `--expose-gc`.
 */
import { setTimeout as delay } from 'node:timers/promises';

export interface ToldMemory {
  readonly externalMax: number;
  readonly external: number;
  readonly heapUsed: number;
}

const SAMPLE_MS = 5;
const SETTLED_MS = 200;

let externalMax = 0;

function sample(): void {
  // Buffers are in it.
  externalMax = Math.max(externalMax, process.memoryUsage().external);
}

setInterval(sample, SAMPLE_MS).unref();
process.on('SIGUSR2', async () => {
  sample();
  // Buffers are let go of in another thread, some time after.
  gc?.();
  await delay(SETTLED_MS);
  gc?.();
  await delay(SETTLED_MS);
  const { external, heapUsed } = process.memoryUsage();
  const told: ToldMemory = { externalMax, external, heapUsed };
  process.stderr.write(`${JSON.stringify(told)}\n`);
  externalMax = 0;
});
