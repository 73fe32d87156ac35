/** The name of a task that a worker does not know is read from the repr of its exception, and only from that. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unregistered } from '../../src/celery/error-type.ts';

test('the name in the repr', () => {
  assert.deepEqual(unregistered("NotRegistered('shop.gone')"), { name: 'shop.gone' });
  assert.deepEqual(unregistered('NotRegistered("it\'s")'), { name: "it's" });
  assert.deepEqual(unregistered(`NotRegistered('${'x'.repeat(5000)}')`), {});
  for (const text of [
    ...['', 'NotRegistered(\'a")', 'NotRegistered(7)', "KeyError('a')", "x NotRegistered('a')"],
    ...[undefined, 7, {}],
  ])
    assert.deepEqual(unregistered(text), {});
});
