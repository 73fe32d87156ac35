/** Measures work by the processor time of this thread: what other processes, or other threads, take of a core is not counted. */

/** @returns ms */
export function processorMs(work: () => void): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}
