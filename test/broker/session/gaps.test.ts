/** Where events may have been missed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gapsOf } from '../../../src/broker/session/gaps.ts';

test('each connection but the first follows a gap, and so does what was missed during one', () => {
  let gaps = 0;
  const { ready, missed } = gapsOf(() => {
    gaps += 1;
  });
  ready();
  assert.equal(gaps, 0);
  ready();
  assert.equal(gaps, 1);
  missed();
  assert.equal(gaps, 2);
});
