/**
 * Bounds how often one kind of line is logged: the first of each window passes, the rest are counted and told with the
 * next that passes. Pure: the time is an argument.
 */

export interface LogRate {
  /** Whether to log now; if so, how many of the same key were held back since the last. */
  admit(
    key: string,
    nowMs: number,
  ): { readonly log: true; readonly heldBack: number } | { readonly log: false };
}

/** Keys are made of bounded fields; should they not be, the table starts anew rather than grow. */
const KEYS_MAX = 1000;

export function createLogRate(windowMs: number): LogRate {
  const seen = new Map<string, { sinceMs: number; heldBack: number }>();
  return {
    admit(key, nowMs) {
      const last = seen.get(key);
      if (last !== undefined && nowMs - last.sinceMs < windowMs) {
        last.heldBack += 1;
        return { log: false };
      }
      if (last === undefined && seen.size >= KEYS_MAX) seen.clear();
      seen.set(key, { sinceMs: nowMs, heldBack: 0 });
      return { log: true, heldBack: last?.heldBack ?? 0 };
    },
  };
}
