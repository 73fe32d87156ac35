import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SeriesRetirement } from '../../../src/otlp/collect/series-retirement.ts';

test('all retired keys and values are reported at the next collection, once', () => {
  const retirement = new SeriesRetirement();
  const given = new Set(['w1']);
  retirement.add('worker', given);
  retirement.add('worker', new Set(['w2', 'w3']));
  retirement.add('queue', new Set(['q1']));
  const isRetired = retirement.take();
  for (const attributes of [{ worker: 'w1' }, { worker: 'w3', queue: 'q2' }, { worker: 'w4', queue: 'q1' }])
    assert.ok(isRetired(attributes), JSON.stringify(attributes));
  for (const attributes of [{}, { worker: 'w4' }, { queue: 'w1' }, { worker: 'q1' }])
    assert.ok(!isRetired(attributes), JSON.stringify(attributes));
  assert.deepEqual(given, new Set(['w1']), 'what was given is not changed');
  retirement.add('worker', new Set(['w9']));
  const isRetiredNext = retirement.take();
  assert.ok(!isRetiredNext({ worker: 'w1' }));
  assert.ok(isRetiredNext({ worker: 'w9' }));
});

test('only the attributes’ own strings can be retired', () => {
  const retirement = new SeriesRetirement();
  retirement.add('otel.metric.overflow', new Set(['true']));
  retirement.add('constructor', new Set(['w1']));
  const isRetired = retirement.take();
  assert.ok(!isRetired({ 'otel.metric.overflow': true }));
  assert.ok(!isRetired({ worker: 'w1' }));
});
