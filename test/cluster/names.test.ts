import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Names } from '../../src/cluster/names.ts';

test('a name comes back as it is, however many there were', () => {
  const names = new Names();
  for (const name of ['shop.pay', '', '__proto__', 'naïve', 'shop.pay'])
    assert.equal(names.intern(name), name);
  for (let index = 0; index < 25_000; index += 1) assert.equal(names.intern(`n${index}`), `n${index}`);
});
