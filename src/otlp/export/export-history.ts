/** Records the outcomes of each source’s exports: whether anything has arrived, and when a series of failures ended. Pure. */
import type { ExportOutcome } from './export-source.ts';

/** The failures that a successful export has ended. */
export interface Recovery {
  /** How many exports have failed since the last success. */
  readonly failures: number;
  /** How many ms passed since the first failure. */
  readonly afterMs: number;
}

type LastOutcome = Pick<ExportOutcome, 'outcome' | 'items' | 'rejectedItems'>;

export function createExportHistory() {
  const arrived = new Set<string>();
  const rejected = new Set<string>();
  const failing = new Map<string, { failures: number; readonly sinceMs: number }>();
  return {
    /**
     * Records the outcome of an export.
     * @param nowMs from a monotonic clock
     * @returns the preceding failures, if this is the first success after them
     */
    note(name: string, { outcome, items, rejectedItems }: LastOutcome, nowMs: number): Recovery | undefined {
      const hasAcceptedItems = items > rejectedItems;
      if (hasAcceptedItems) arrived.add(name);
      if (rejectedItems > 0) rejected.add(name);
      else if (hasAcceptedItems) rejected.delete(name);
      const streak = failing.get(name);
      if (outcome === 'failure') {
        if (streak === undefined) failing.set(name, { failures: 1, sinceMs: nowMs });
        else streak.failures += 1;
        return undefined;
      }
      // If nothing was sent or everything was rejected, it is still unknown whether the backend accepts data.
      if (streak === undefined || !hasAcceptedItems) return undefined;
      failing.delete(name);
      return { failures: streak.failures, afterMs: nowMs - streak.sinceMs };
    },
    /** Whether the backend has ever accepted items of this source. */
    hasArrived: (name: string) => arrived.has(name),
    /** Whether exports have failed since the backend last accepted items. Exports without data are not considered. */
    isFailing: (name: string) => failing.has(name),
    /** Whether the backend rejected items of the last export that arrived. */
    hasRejectedItems: (name: string) => rejected.has(name),
  };
}
