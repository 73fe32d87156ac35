/** Finds the n-th smallest of many numbers in steps: sorting a million of them would block the event loop. Pure. */
import type { Steps } from './steps.ts';

/** Each number takes some nanoseconds. */
const NUMBERS_PER_STEP = 50_000;

/**
 * The largest of the `count` smallest numbers. It bisects the range of values; with a pivot from the numbers, a hostile
 * sender could make it quadratic.
 * @param numbers finite, at least `count` of them; their order is changed
 * @param count at least 1
 */
export function* largestOfSmallest(numbers: Float64Array, count: number): Steps<number> {
  let [from, to] = [0, numbers.length];
  for (;;) {
    const [least, most] = yield* endsOf(numbers, from, to);
    if (least === most) return least;
    const middle = least / 2 + most / 2;
    // Less than the maximum, so that neither part is empty.
    const border = yield* partition(numbers, from, to, middle < most ? middle : least);
    if (count <= border) to = border;
    else from = border;
  }
}

/** The minimum and maximum of a range. */
function* endsOf(numbers: Float64Array, from: number, to: number): Steps<readonly [number, number]> {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let begin = from; begin < to; begin += NUMBERS_PER_STEP) {
    const end = Math.min(begin + NUMBERS_PER_STEP, to);
    for (let at = begin; at < end; at += 1) {
      const number = numbers[at] ?? Number.NaN;
      if (number < least) least = number;
      if (number > most) most = number;
    }
    yield;
  }
  return [least, most];
}

/** Moves the numbers up to the limit to the left. @returns where the rest begins */
function* partition(numbers: Float64Array, from: number, to: number, limit: number): Steps<number> {
  let border = from;
  for (let begin = from; begin < to; begin += NUMBERS_PER_STEP) {
    const end = Math.min(begin + NUMBERS_PER_STEP, to);
    for (let at = begin; at < end; at += 1) {
      const number = numbers[at] ?? Number.NaN;
      if (number > limit) continue;
      numbers[at] = numbers[border] ?? Number.NaN;
      numbers[border] = number;
      border += 1;
    }
    yield;
  }
  return border;
}
