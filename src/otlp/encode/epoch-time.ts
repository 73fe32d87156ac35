/**
 * Converts epoch milliseconds to the nanoseconds of OTLP without loss of precision. A time before 1970 becomes 0, which means
 * unknown in OTLP. A time beyond signed 64 bits, which backends cannot hold, becomes the latest that they can. Pure.
 */

const LATEST_MS = 9_223_372_036_854;

/** The whole seconds. `nanosOf` returns the rest, which rounding may make a full second: then the caller adds 1. */
export function secondsOf(epochMs: number): number {
  return Math.floor(within(epochMs) / 1000);
}

/** Nanoseconds from 0 to 10⁹, inclusive. */
export function nanosOf(epochMs: number, seconds: number): number {
  // Both steps are exact, since a time of this century in ms has at most 12 bits of fraction.
  return Math.round((within(epochMs) - seconds * 1000) * 1e6);
}

/** The time in the representation of the SDK. */
export function hrTimeOf(epochMs: number): [seconds: number, nanos: number] {
  const seconds = secondsOf(epochMs);
  const nanos = nanosOf(epochMs, seconds);
  return nanos < 1e9 ? [seconds, nanos] : [seconds + 1, 0];
}

/** Limits the time to the range of OTLP. */
function within(epochMs: number): number {
  // False for NaN.
  return epochMs > 0 ? Math.min(epochMs, LATEST_MS) : 0;
}
