/** How the exports of each source went so far: whether anything arrived, and when a series of failures ended. Pure. */
import type { ExportOutcome } from './export-source.ts';

/** The series of failures that a successful export ended. */
export interface Recovery {
  /** Since the last successful export. */
  readonly failures: number;
  /** Since the first failure. */
  readonly afterMs: number;
}

type LastOutcome = Pick<ExportOutcome, 'outcome' | 'items' | 'rejectedItems'>;

export function createExportHistory() {
  const arrived = new Set<string>();
  const rejected = new Set<string>();
  const failing = new Map<string, { failures: number; readonly sinceMs: number }>();
  return {
    /**
     * @param nowMs from a monotonic clock
     * @returns the failures before it, if it is the first success after them
     */
    note(name: string, { outcome, items, rejectedItems }: LastOutcome, nowMs: number): Recovery | undefined {
      const takes = items > rejectedItems;
      if (takes) arrived.add(name);
      if (rejectedItems > 0) rejected.add(name);
      else if (takes) rejected.delete(name);
      const streak = failing.get(name);
      if (outcome === 'failure') {
        if (streak === undefined) failing.set(name, { failures: 1, sinceMs: nowMs });
        else streak.failures += 1;
        return undefined;
      }
      // If nothing was sent or everything was rejected, it is unknown whether the backend accepts anything.
      if (streak === undefined || !takes) return undefined;
      failing.delete(name);
      return { failures: streak.failures, afterMs: nowMs - streak.sinceMs };
    },
    /** Whether the backend ever accepted items of this source. */
    hasArrived: (name: string) => arrived.has(name),
    /** Whether the last export failed of which something was sent. */
    isFailing: (name: string) => failing.has(name),
    /** Whether the backend rejected items of the last export that arrived. */
    isRejected: (name: string) => rejected.has(name),
  };
}
