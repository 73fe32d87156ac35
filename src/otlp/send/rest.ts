/**
 * How long a backend is left alone that asks for it, and why. Pure: the time is an argument, of a clock that is never set.
 */

export interface Rest {
  /** @param forMs however long it asks for */
  begin(reason: string, forMs: number, nowMs: number): void;
  /** What is left of it, if it is not over. */
  left(nowMs: number): { readonly reason: string; readonly ms: number } | undefined;
}

/** A backend that asks for more is asked again after this: by mistake it would silence the bridge for good. */
const REST_MAX_MS = 5 * 60_000;

export function createRest(): Rest {
  const rest = { untilMs: -Infinity, reason: '' };
  return {
    begin(reason, forMs, nowMs) {
      rest.untilMs = nowMs + Math.min(forMs, REST_MAX_MS);
      rest.reason = reason;
    },
    left(nowMs) {
      const { reason, untilMs } = rest;
      return untilMs > nowMs ? { reason, ms: untilMs - nowMs } : undefined;
    },
  };
}
