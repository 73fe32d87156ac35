/**
 * Measures alternately into several accumulations, some of which are merged now and then, and the same into a single
 * one. Whatever the aggregation, both must be equal.
 */

import type { Accumulation, Aggregation } from '../../../src/otlp/aggregate/aggregation.ts';
import { fc } from '../../seed.ts';

type Step =
  | { readonly into: number; readonly value: number }
  | { readonly from: number; readonly to: number };

const ACCUMULATIONS = 3;
const accumulation = fc.nat(ACCUMULATIONS - 1);

export const stepsWith = (value: fc.Arbitrary<number>): fc.Arbitrary<readonly Step[]> =>
  fc.array(
    fc.oneof(
      { weight: 5, arbitrary: fc.record({ into: accumulation, value }) },
      { weight: 1, arbitrary: fc.record({ from: accumulation, to: accumulation }) },
    ),
    { maxLength: 60 },
  );

/** A merged accumulation begins anew; at the end all are merged into the first. */
export function bothWays<V>(aggregation: Aggregation<V>, steps: readonly Step[]) {
  const alone = aggregation.begin();
  const parts: Accumulation<V>[] = Array.from({ length: ACCUMULATIONS }, () => aggregation.begin());
  for (const step of steps) {
    if ('value' in step) {
      parts[step.into]?.measure(step.value);
      alone.measure(step.value);
    } else {
      const taken = parts[step.from]?.value();
      parts[step.from] = aggregation.begin();
      if (taken !== undefined) parts[step.to]?.absorb(taken);
    }
  }
  const together = aggregation.begin();
  for (const part of parts) together.absorb(part.value());
  return { alone: alone.value(), together: together.value() };
}
