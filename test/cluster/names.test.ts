import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Names } from '../../src/cluster/names.ts';

test('a name comes back as it is, however many there were', () => {
  const names = new Names();
  for (const name of ['shop.pay', '', '__proto__', 'naïve', 'shop.pay'])
    assert.equal(names.intern(name), name);
  for (let index = 0; index < 25_000; index += 1) assert.equal(names.intern(`n${index}`), `n${index}`);
});

test('names of the longest kind are bounded in memory too', () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage: () => void = runInNewContext('gc');
  const names = new Names();
  const held = (): number => {
    for (let round = 0; round < 3; round += 1) collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  const before = held();
  for (let index = 0; index < 9_900; index += 1) {
    names.intern(Buffer.from(`${index}`.padEnd(255, '\u4e00'), 'utf16le').toString('utf16le'));
  }
  const taken = held() - before;
  assert.ok(taken < 3_000_000, `${taken} bytes`);
  assert.equal(names.intern('shop.pay'), 'shop.pay');
});
