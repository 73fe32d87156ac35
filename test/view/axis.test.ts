/** Axes of plots: few round values, marks each ten minutes, and gaps where nothing is known. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { axisValues, knownSpans, tickTimes, valueText } from '../../src/view/axis.ts';
import { fc } from '../seed.ts';

test('an axis begins at 0, has at most five values, and reaches the largest', () => {
  assert.deepEqual(axisValues(85, 'count'), [0, 50, 100]);
  assert.deepEqual(axisValues(2.31, 'seconds'), [0, 1, 2, 3]);
  assert.deepEqual(axisValues(560, 'seconds'), [0, 300, 600]);
  assert.deepEqual(axisValues(1, 'count'), [0, 1]);
  assert.deepEqual(axisValues(0.05, 'rate'), [0, 0.02, 0.04, 0.06]);
  fc.assert(
    fc.property(
      fc.double({ min: 0, max: 1e12, noNaN: true }),
      fc.constantFrom('count', 'rate', 'seconds'),
      (most, unit) => {
        const values = axisValues(most, unit);
        assert.equal(values[0], 0);
        assert.ok(values.length >= 2 && values.length <= 5, `${values.length}`);
        assert.ok((values.at(-1) ?? 0) >= most * (1 - 1e-9));
      },
    ),
  );
});

test('what is no number does not break an axis', () => {
  for (const most of [0, -1, Number.NaN, Number.POSITIVE_INFINITY])
    assert.equal(axisValues(most, 'count').at(-1), 1);
});

test('an axis of times has a mark each ten minutes, at full ones', () => {
  const since = Date.parse('2026-01-01T02:14:30Z');
  const texts = tickTimes(since, since + 3_600_000, 10).map((at) => new Date(at).toISOString().slice(11, 16));
  assert.deepEqual(texts, ['02:20', '02:30', '02:40', '02:50', '03:00', '03:10']);
});

test('a line has gaps where values are not known, and a value alone is a part of its own', () => {
  const spans = knownSpans([null, 1, 0, null, 5, null, null]);
  assert.deepEqual(
    spans.map((span) => span.map(({ at, value }) => [at, value])),
    [
      [
        [1, 1],
        [2, 0],
      ],
      [[4, 5]],
    ],
  );
});

test('full minutes and hours have no seconds', () => {
  assert.deepEqual(
    [0, 0.5, 10, 60, 90, 3600, null].map((value) => valueText(value, 'seconds')),
    ['0', '500 ms', '10 s', '1 min', '1 min 30 s', '1 h', '–'],
  );
  assert.equal(valueText(1200, 'count'), '1,200');
});
