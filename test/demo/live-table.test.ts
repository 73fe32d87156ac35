import assert from 'node:assert/strict';
import { test } from 'node:test';
import { draw } from '../../examples/demo/live-table.ts';
import type { Point } from '../../examples/demo/otlp-points.ts';
import { HOSTILE, HOSTILE_SHOWN, UNPRINTABLE } from '../hostile-text.ts';

function point(metric: string, attributes: Point['attributes']): Point {
  return {
    ...{ metric, attributes, resource: {}, scope: '', unit: '', kind: 'sum', temporality: 'cumulative' },
    ...{ monotonic: true, value: 1, sum: 1, bounds: [], bucketCounts: [], startMs: 0, timeMs: 0 },
  };
}

test('untrusted names neither control the terminal nor add lines to the tables', () => {
  const lines = draw([
    point('celery.task.failed', { 'celery.task.name': HOSTILE, 'error.type': HOSTILE }),
    point('celery.worker.up', { 'celery.worker.name': HOSTILE }),
  ]).split('\n');
  const firsts = lines.map((line) => line.split(' ')[0]);
  const tables = ['task', HOSTILE_SHOWN, 'all', '', 'worker', HOSTILE_SHOWN, '', 'error.type', HOSTILE_SHOWN];
  assert.deepEqual(firsts, tables);
  for (const line of lines) assert.doesNotMatch(line, UNPRINTABLE);
});
