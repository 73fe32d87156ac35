/** How long a step takes that looks for the n-th smallest of many numbers. */
import { test } from 'node:test';
import { largestOfSmallest } from '../../src/cluster/select-nth.ts';
import { bound } from '../bound.ts';
import { processorMs } from '../processor-time.ts';

/** Time of this thread, which some machines report in steps of 4 ms. */
const STEP_CPU_MS_MAX = 12;

test('no step of millions of numbers takes long', (t) => {
  const numbers = Float64Array.from({ length: 8_000_000 }, (_, at) => (at * 2_654_435_761) % 2 ** 32);
  const steps = largestOfSmallest(numbers, 4_000_000);
  let longestMs = 0;
  for (let isOver = false; !isOver; ) {
    const stepMs = processorMs(() => {
      isOver = steps.next().done === true;
    });
    longestMs = Math.max(longestMs, stepMs);
  }
  bound(t, 'longest step to the median of 8 million numbers', longestMs, STEP_CPU_MS_MAX, 'ms');
});
