/**
 * Epoch milliseconds, as events have them, as the nanoseconds of OTLP: exact, whatever the fraction. A time before 1970 is 0,
 * which means unknown in OTLP; one that backends cannot hold (signed 64 bits) is the last that they can. Pure.
 */

const LATEST_MS = 9_223_372_036_854;

/** Seconds, and nanoseconds from 0 to 10⁹, inclusive: adding them up is left to the caller. */
export function secondsOf(epochMs: number): number {
  return Math.floor(within(epochMs) / 1000);
}

export function nanosOf(epochMs: number, seconds: number): number {
  // Both steps are exact, since a time of this century in ms has 12 bits of fraction at most.
  return Math.round((within(epochMs) - seconds * 1000) * 1e6);
}

/** As the SDK has times. */
export function hrTimeOf(epochMs: number): [seconds: number, nanos: number] {
  const seconds = secondsOf(epochMs);
  const nanos = nanosOf(epochMs, seconds);
  return nanos < 1e9 ? [seconds, nanos] : [seconds + 1, 0];
}

function within(epochMs: number): number {
  // Also false of NaN.
  return epochMs > 0 ? Math.min(epochMs, LATEST_MS) : 0;
}
