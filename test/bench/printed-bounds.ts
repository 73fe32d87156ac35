/** The bounds that a measuring script of this folder prints: `what: figure, at most bound`. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { bound } from '../bound.ts';

const BOUND = /^(?<promise>.+): (?<figure>\S+), at most (?<max>\S+)$/gmu;

/** Each is a row of the table; without any, the test fails. */
export function boundAsPrinted(t: TestContext, printed: string): void {
  const rows = [...printed.matchAll(BOUND)];
  assert.ok(rows.length > 0, `no bounds are in: ${printed}`);
  for (const { groups: { promise = '', figure, max } = {} } of rows)
    bound(t, promise, Number(figure), Number(max), '');
}
