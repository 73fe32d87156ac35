/**
 * How long a backend asked not to be sent anything (`Retry-After` over HTTP, `RetryInfo` over gRPC), and why. Pure: the
 * time is an argument, from a monotonic clock.
 */

export interface Throttle {
  /** @param forMs as long as the backend asked */
  begin(reason: string, forMs: number, nowMs: number): void;
  /** Undefined once it is over. */
  left(nowMs: number): { readonly reason: string; readonly ms: number } | undefined;
}

/** A backend that asks for more by mistake is not left without metrics for longer than this. */
const THROTTLE_MAX_MS = 5 * 60_000;

export function createThrottle(): Throttle {
  const throttle = { untilMs: -Infinity, reason: '' };
  return {
    begin(reason, forMs, nowMs) {
      throttle.untilMs = nowMs + Math.min(forMs, THROTTLE_MAX_MS);
      throttle.reason = reason;
    },
    left(nowMs) {
      const { reason, untilMs } = throttle;
      return untilMs > nowMs ? { reason, ms: untilMs - nowMs } : undefined;
    },
  };
}
