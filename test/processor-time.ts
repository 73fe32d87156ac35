/** Measures work in processor time of this thread: time of other processes and threads is not counted. */

/** @returns ms */
export function processorMs(work: () => void): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}
