import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reasonOf } from '../../src/text/errors.ts';

test('the reason of anything thrown is its message; of an error without one, the messages of its causes, or its name', () => {
  const attempts = [new Error('connect to ::1'), new Error('connect to 127.0.0.1')];
  assert.equal(reasonOf(new Error('broken')), 'broken');
  assert.equal(reasonOf(new AggregateError(attempts)), 'connect to ::1; connect to 127.0.0.1');
  assert.equal(reasonOf(new AggregateError(attempts, 'all failed')), 'all failed');
  assert.equal(reasonOf(new RangeError('')), 'RangeError');
  assert.equal(reasonOf('thrown text'), 'thrown text');
  assert.equal(reasonOf(undefined), 'undefined');
});
