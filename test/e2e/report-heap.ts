/**
 * Preloaded into a bridge process: on SIGUSR2 it runs a full garbage collection and writes the used heap in MB. It needs
 * `--expose-gc`.
 */
process.on('SIGUSR2', () => {
  gc?.();
  process.stderr.write(`${(process.memoryUsage().heapUsed / 1e6).toFixed(1)} MB of heap\n`);
});
