/**
 * How the exports of each source have gone so far: whether anything has arrived yet, and when failures are over. It decides
 * nothing. Pure.
 */
import type { ExportOutcome } from './export-source.ts';

/** What an export put an end to. */
export interface Recovery {
  /** Since the last one that arrived. */
  readonly failures: number;
  /** Since the first of them ended. */
  readonly afterMs: number;
}

export interface ExportHistory {
  /**
   * @param nowMs of a clock that is never set
   * @returns the failures that are over with it, if it is the first to arrive after some
   */
  note(name: string, outcome: Noted, nowMs: number): Recovery | undefined;
  /** Whether the backend has ever taken anything of this one, and not rejected it. */
  hasArrived(name: string): boolean;
  /** Whether the backend rejected points of the last export that reached it. */
  isRejected(name: string): boolean;
}

type Noted = Pick<ExportOutcome, 'outcome' | 'points' | 'rejectedPoints'>;

export function createExportHistory(): ExportHistory {
  const arrived = new Set<string>();
  const rejected = new Set<string>();
  const failing = new Map<string, { failures: number; readonly sinceMs: number }>();
  return {
    note(name, { outcome, points, rejectedPoints }, nowMs) {
      const takes = points > rejectedPoints;
      if (takes) arrived.add(name);
      if (rejectedPoints > 0) rejected.add(name);
      else if (takes) rejected.delete(name);
      const streak = failing.get(name);
      if (outcome === 'failure') {
        if (streak === undefined) failing.set(name, { failures: 1, sinceMs: nowMs });
        else streak.failures += 1;
        return undefined;
      }
      // Where nothing was sent, or all was rejected, nobody knows yet whether the backend takes anything.
      if (streak === undefined || !takes) return undefined;
      failing.delete(name);
      return { failures: streak.failures, afterMs: nowMs - streak.sinceMs };
    },
    hasArrived: (name) => arrived.has(name),
    isRejected: (name) => rejected.has(name),
  };
}
