/**
 * Preloaded into a bridge process: on SIGUSR2 it runs a full garbage collection and reports the process’s memory, and the
 * most that it held outside of the heap since the last report. It needs `--expose-gc`.
 */
import { setTimeout as delay } from 'node:timers/promises';

export interface MemoryReport {
  readonly externalMax: number;
  readonly external: number;
  readonly heapUsed: number;
}

const SAMPLE_MS = 5;
const SETTLED_MS = 200;

let externalMax = 0;

function sample(): void {
  // Includes buffers.
  externalMax = Math.max(externalMax, process.memoryUsage().external);
}

setInterval(sample, SAMPLE_MS).unref();
process.on('SIGUSR2', async () => {
  sample();
  // Another thread frees buffers some time later.
  gc?.();
  await delay(SETTLED_MS);
  gc?.();
  await delay(SETTLED_MS);
  const { external, heapUsed } = process.memoryUsage();
  const report: MemoryReport = { externalMax, external, heapUsed };
  process.stderr.write(`${JSON.stringify(report)}\n`);
  externalMax = 0;
});
