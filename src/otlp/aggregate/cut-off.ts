/**
 * Keeps sums within what a point can hold. A measurement that would exceed the bound is refused, so that later ones still
 * count. A merged value was counted before, so its sum is cut off at the bound. Pure.
 */

/** @param max its largest absolute value */
export function cutOff(sum: number, max: number): number {
  return Math.max(-max, Math.min(sum, max));
}
