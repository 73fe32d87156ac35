/** Finds how far the smallest of many numbers reach, in steps: to sort a million of them would take one long turn. Pure. */
import type { Steps } from './steps.ts';

/** Each takes some nanoseconds. */
const NUMBERS_A_STEP = 50_000;

/**
 * The largest of the `count` smallest numbers. What may hold it is cut in the middle between its ends, and not at one of the
 * numbers: whoever chooses those could make that take a pass for each.
 * @param numbers finite, at least `count` of them; their order is changed
 * @param count at least 1
 */
export function* largestOfSmallest(numbers: Float64Array, count: number): Steps<number> {
  let [from, to] = [0, numbers.length];
  for (;;) {
    const [least, most] = yield* endsOf(numbers, from, to);
    if (least === most) return least;
    const middle = least / 2 + most / 2;
    // Less than the most of them, so that neither part is empty.
    const border = yield* partition(numbers, from, to, middle < most ? middle : least);
    if (count <= border) to = border;
    else from = border;
  }
}

/** The least and the most of some numbers. */
function* endsOf(numbers: Float64Array, from: number, to: number): Steps<readonly [number, number]> {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let begin = from; begin < to; begin += NUMBERS_A_STEP) {
    const end = Math.min(begin + NUMBERS_A_STEP, to);
    for (let at = begin; at < end; at += 1) {
      const number = numbers[at] ?? Number.NaN;
      if (number < least) least = number;
      if (number > most) most = number;
    }
    yield;
  }
  return [least, most];
}

/** Puts those up to the limit to the left. @returns where the others begin */
function* partition(numbers: Float64Array, from: number, to: number, limit: number): Steps<number> {
  let border = from;
  for (let begin = from; begin < to; begin += NUMBERS_A_STEP) {
    const end = Math.min(begin + NUMBERS_A_STEP, to);
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
