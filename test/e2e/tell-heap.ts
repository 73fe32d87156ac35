/**
 * Imported into the process of a bridge before anything else: on SIGUSR2 it collects all garbage and writes how many MB of
 * the heap are left. It needs `--expose-gc`.
 */
process.on('SIGUSR2', () => {
  gc?.();
  process.stderr.write(`${(process.memoryUsage().heapUsed / 1e6).toFixed(1)} MB of heap\n`);
});
