/** How the suite of costs asserts: each promise is a row in the table that `npm run test:limits` prints at its end. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { writeFigure } from '../scripts/test-figures.ts';

/** Fails if the figure is above its bound; it is in the table either way. */
export function bound(t: TestContext, promise: string, figure: number, max: number, unit: string): void {
  t.diagnostic(writeFigure({ promise, figure, max, unit }));
  assert.ok(figure <= max, `${promise}: ${figure} ${unit}, and at most ${max} ${unit} are allowed`);
}

/** As `bound`, for the highest of several figures, which the promise then names. */
export function boundWorst(
  t: TestContext,
  promise: string,
  figures: Iterable<readonly [what: string, figure: number]>,
  max: number,
  unit: string,
): void {
  const [worst] = [...figures].sort(([, one], [, other]) => other - one);
  assert.ok(worst !== undefined, `${promise}: nothing was measured`);
  const [what, figure] = worst;
  bound(t, `${promise}, at worst ${what}`, figure, max, unit);
}
