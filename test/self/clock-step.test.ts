import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clockStepDetector } from '../../src/self/clock-step.ts';

const EPOCH_MS = 1_790_000_000_000;

/** The differences between the wall clock and the monotonic clock at each check, ms, and the findings. */
const CASES: readonly (readonly [what: string, offBy: readonly number[], found: readonly number[]])[] = [
  ['is steady', [0, 0, 0], [0, 0, 0]],
  ['is set back by an hour', [0, -3_600_000, 0, 0], [0, -3_600_000, 0, 0]],
  ['is set forward, or the machine was suspended', [0, 90_000, 0], [0, 90_000, 0]],
  ['is set and reset', [3000, 0, -3000, 0], [3000, 0, -3000, 0]],
  ['is slewed for hours', Array.from({ length: 5000 }, () => 2.5), Array.from({ length: 5000 }, () => 0)],
  ['is corrected by less than two seconds', [1900, -1900], [0, 0]],
];

for (const [what, offBy, found] of CASES) {
  test(`a clock that ${what}`, () => {
    const step = clockStepDetector();
    let [wallMs, monotonicMs] = [EPOCH_MS, 5000];
    assert.equal(step(wallMs, monotonicMs), 0);
    const steps = offBy.map((byMs) => {
      wallMs += 5000 + byMs;
      monotonicMs += 5000;
      return step(wallMs, monotonicMs);
    });
    assert.deepEqual(steps, found);
  });
}

test('a stalled process sees both clocks advance', () => {
  const step = clockStepDetector();
  step(EPOCH_MS, 0);
  assert.equal(step(EPOCH_MS + 3_600_000, 3_600_000), 0);
});
