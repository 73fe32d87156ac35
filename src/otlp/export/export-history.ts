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
  note(name: string, outcome: Pick<ExportOutcome, 'outcome' | 'points'>, nowMs: number): Recovery | undefined;
  /** Whether the backend has ever taken anything of this one. */
  hasArrived(name: string): boolean;
}

export function createExportHistory(): ExportHistory {
  const arrived = new Set<string>();
  const failing = new Map<string, { failures: number; readonly sinceMs: number }>();
  return {
    note(name, { outcome, points }, nowMs) {
      if (points > 0) arrived.add(name);
      const streak = failing.get(name);
      if (outcome === 'failure') {
        if (streak === undefined) failing.set(name, { failures: 1, sinceMs: nowMs });
        else streak.failures += 1;
        return undefined;
      }
      // Where there was nothing to send, nobody knows more of the backend than before.
      if (streak === undefined || points === 0) return undefined;
      failing.delete(name);
      return { failures: streak.failures, afterMs: nowMs - streak.sinceMs };
    },
    hasArrived: (name) => arrived.has(name),
  };
}
