/**
 * Sums are always such as a point can have. What is measured and would lead beyond that is refused, so that what comes
 * after it still counts; what is taken back has been counted before, and is cut off. Pure.
 */

/** @param max how far from 0 it may be */
export function cutOff(sum: number, max: number): number {
  return Math.max(-max, Math.min(sum, max));
}
