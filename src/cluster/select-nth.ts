/** Finds the n-th smallest of many numbers in steps: sorting a million of them would block the event loop. Pure. */
import type { Steps } from './steps.ts';

/** Comparing a number takes some nanoseconds. */
const NUMBERS_PER_STEP = 50_000;

/**
 * The largest of the `count` smallest numbers. It bisects the range of values: with one of the numbers as pivot, a hostile
 * sender could make the time quadratic.
 * @param numbers finite, at least `count` of them; their order is changed
 * @param count at least 1
 */
export function* largestOfSmallest(numbers: Float64Array, count: number): Steps<number> {
  let [from, to] = [0, numbers.length];
  for (;;) {
    const [minimum, maximum] = yield* extremesOf(numbers, from, to);
    if (minimum === maximum) return minimum;
    const middle = minimum / 2 + maximum / 2;
    // The limit is below the maximum, so that neither part is empty.
    const border = yield* partition(numbers, from, to, middle < maximum ? middle : minimum);
    if (count <= border) to = border;
    else from = border;
  }
}

/** The minimum and maximum of a range. */
function* extremesOf(numbers: Float64Array, from: number, to: number): Steps<readonly [number, number]> {
  let [minimum, maximum] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let begin = from; begin < to; begin += NUMBERS_PER_STEP) {
    const end = Math.min(begin + NUMBERS_PER_STEP, to);
    for (let at = begin; at < end; at += 1) {
      const number = numbers[at] ?? Number.NaN;
      if (number < minimum) minimum = number;
      if (number > maximum) maximum = number;
    }
    yield;
  }
  return [minimum, maximum];
}

/** Moves the numbers that are not above the limit to the left. @returns the index where the others begin */
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
