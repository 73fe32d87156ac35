/** That no pattern with wildcards takes long to match. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wildcard } from '../../src/text/wildcard.ts';
import { bound } from '../bound.ts';
import { normalMs } from '../processor-time.ts';

test('no pattern is slow, however many ways it has to match', (t) => {
  const tookMs = normalMs(() => {
    assert.equal(wildcard(`${'*?'.repeat(40)}!`)('celery.task.prefetch_time'.repeat(10)), false);
  });
  bound(t, 'a pattern with forty wildcards', tookMs, 100, 'ms');
});
