/** A watch on this process, and what keeps the process busy. */
import type { TestContext } from 'node:test';
import { type ProcessWatch, watchProcess } from '../../src/self/process-readings.ts';

/** Until the end of the test. */
export function watch(t: TestContext): ProcessWatch {
  const watched = watchProcess();
  t.after(() => watched.close());
  return watched;
}

export function blockMs(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
}
