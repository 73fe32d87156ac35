/** Runs all steps at once, for callers with nothing to do in between. */
import type { Steps } from '../../src/cluster/steps.ts';

export function atOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
