/** Finds how far the smallest of many numbers reach, in steps: to sort a million of them would take one long turn. Pure. */
import type { Steps } from './steps.ts';

/**
 * The largest of the `count` smallest numbers (quickselect); each pass over what is left is a step.
 * @param numbers without NaN, at least `count` of them; their order is changed
 * @param count at least 1
 */
export function* largestOfSmallest(numbers: Float64Array, count: number): Steps<number> {
  let [from, to] = [0, numbers.length - 1];
  while (from < to) {
    const pivot = medianOf(numbers[from], numbers[(from + to) >>> 1], numbers[to]);
    const [left, right] = partition(numbers, from, to, pivot);
    if (count - 1 <= right) to = right;
    else if (count - 1 >= left) from = left;
    else return pivot;
    yield;
  }
  return numbers[count - 1] ?? Number.NaN;
}

/** Puts smaller numbers to the left and larger ones to the right. @returns where the right part begins, where the left ends */
function partition(
  numbers: Float64Array,
  from: number,
  to: number,
  pivot: number,
): readonly [number, number] {
  let [left, right] = [from, to];
  while (left <= right) {
    while ((numbers[left] ?? pivot) < pivot) left += 1;
    while ((numbers[right] ?? pivot) > pivot) right -= 1;
    if (left > right) break;
    const swapped = numbers[left] ?? pivot;
    numbers[left] = numbers[right] ?? pivot;
    numbers[right] = swapped;
    left += 1;
    right -= 1;
  }
  return [left, right];
}

function medianOf(one = 0, two = 0, three = 0): number {
  return Math.max(Math.min(one, two), Math.min(Math.max(one, two), three));
}
