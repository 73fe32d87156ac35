/** The name of a task that a worker does not know is read from the repr of its exception, and only from that. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unregistered } from '../../src/celery/error-type.ts';

test('the name in the repr', () => {
  assert.deepEqual(unregistered("NotRegistered('shop.gone')", undefined), { name: 'shop.gone' });
  assert.deepEqual(unregistered('NotRegistered("it\'s")', null), { name: "it's" });
  assert.deepEqual(unregistered(`NotRegistered('${'x'.repeat(5000)}')`, undefined), {});
  for (const text of [
    ...[
      '',
      'NotRegistered(\'a")',
      'NotRegistered(7)',
      "NotRegistered('a', 'b')",
      "KeyError('a')",
      "x NotRegistered('a')",
    ],
    ...[undefined, 7, {}],
  ])
    assert.deepEqual(unregistered(text, undefined), {});
  assert.deepEqual(unregistered("NotRegistered('The model is not registered')", 'Traceback'), {});
});
