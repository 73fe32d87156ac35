/** Bars of a workflow: they lie within its time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TreeRow } from '../../src/health/details.ts';
import { lanesOf } from '../../src/view/lanes.ts';

const at = (second: number): string => new Date(1_790_000_000_000 + second * 1000).toISOString();

function row(from: number | null, started: number | null, ended: number | null): TreeRow {
  const [begin, start, end] = [from, started, ended].map((second) => (second === null ? null : at(second)));
  return {
    ...{ id: 'a', task: 'shop.pay', worker: 'w', outcome: 'succeeded', error_type: '', retries: 0, depth: 0 },
    ...{ from: begin ?? null, started: start ?? null, ended: end ?? null },
  };
}

test('the bars have the whole time of the workflow', () => {
  const { lanes, total_s, marks } = lanesOf([row(0, 1, 2), row(2, 5, 10)]);
  assert.equal(total_s, 10);
  assert.deepEqual(lanes[0]?.waited, { from: 0, to: 10 });
  assert.deepEqual(lanes[0]?.ran, { from: 10, to: 20 });
  assert.deepEqual(lanes[1]?.ran, { from: 50, to: 100 });
  assert.deepEqual([lanes[1]?.wait_s, lanes[1]?.runtime_s], [3, 5]);
  assert.deepEqual(
    marks.map(({ text }) => text),
    ['0', '5 s', '10 s'],
  );
});

test('a run whose end has no plausible time has no bar, and no times make no plot', () => {
  const { lanes, total_s, marks } = lanesOf([row(null, 1, null), row(null, null, null)]);
  assert.deepEqual([lanes[0]?.ran, lanes[0]?.runtime_s], [undefined, null]);
  assert.ok(total_s >= 0);
  assert.ok(marks.every(({ at: place }) => place >= 0 && place <= 100));
  assert.equal(lanesOf([]).total_s, 0);
});
