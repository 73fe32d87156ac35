/**
 * Consistent probability sampling (OpenTelemetry, tracestate-probability-sampling): a trace is kept if the last 56 bits of its
 * id are not below a threshold. Every span contains its threshold, so that a backend can extrapolate. Pure.
 */

export interface Threshold {
  /** The smallest value that is kept: 14 hexadecimal digits. It is text because a number cannot hold 56 bits. */
  readonly least: string;
  /** For example `ot=th:e666`; '' if the sampling probability of the trace is unknown. */
  readonly traceState: string;
}

const DIGITS = 14;
const DIGIT_BITS = 4;
/** Digits of a threshold after its leading zeros or `f`s. */
const SIGNIFICANT_DIGITS = 4;
const ALL = 1n << BigInt(DIGITS * DIGIT_BITS);
/** The index of the first random digit in a trace id. */
const RANDOMNESS = 18;

export const KEPT: Threshold = { least: '0'.repeat(DIGITS), traceState: 'ot=th:0' };
/** Kept because another program sampled the trace, with an unknown probability. */
export const KEPT_BY_PARENT: Threshold = { least: KEPT.least, traceState: '' };

/** @returns undefined if nothing is kept: the ratio rounds to 0 in 56 bits */
export function thresholdOf(ratio: number): Threshold | undefined {
  if (ratio >= 1) return KEPT;
  const kept = BigInt(Math.round(ratio > 0 ? ratio * Number(ALL) : 0));
  if (kept === 0n) return undefined;
  const least = rounded(ALL - kept, digitsFor(ratio))
    .toString(16)
    .padStart(DIGITS, '0');
  return { least, traceState: `ot=th:${least.replace(/0+$/, '') || '0'}` };
}

/** Whether no threshold keeps more traces. */
export function isLowest(threshold: Threshold | undefined): threshold is Threshold {
  return threshold?.least === KEPT.least && threshold.traceState !== '';
}

/** The threshold that keeps more traces; of two equal ones, that whose probability is known. */
export function lowerOf(one: Threshold | undefined, other: Threshold | undefined): Threshold | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  if (one.least === other.least) return one.traceState === '' ? other : one;
  return one.least < other.least ? one : other;
}

export function keeps({ least }: Threshold, traceId: string): boolean {
  return traceId.slice(RANDOMNESS) >= least;
}

/** Rounds to the given number of leading digits. */
function rounded(threshold: bigint, digits: number): bigint {
  const cut = BigInt((DIGITS - digits) * DIGIT_BITS);
  return cut === 0n ? threshold : ((threshold + (1n << (cut - 1n))) >> cut) << cut;
}

/** As in the Collector: very small and very large ratios get more digits. */
function digitsFor(ratio: number): number {
  const leading = Math.max(leadingDigits(ratio), leadingDigits(1 - ratio));
  return Math.min(DIGITS, SIGNIFICANT_DIGITS + leading);
}

/** Number of zeros after the hexadecimal point. */
function leadingDigits(fraction: number): number {
  return Math.max(0, Math.floor(-(Math.floor(Math.log2(fraction)) + 1) / DIGIT_BITS));
}
