/** Names of tasks, queues and workers, of which each is kept once, up to a bound. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Names } from '../../src/cluster/names.ts';

test('a name is unchanged, however many there were', () => {
  const names = new Names();
  for (const name of ['shop.pay', '', '__proto__', 'naïve', 'shop.pay'])
    assert.equal(names.intern(name), name);
  for (let index = 0; index < 45_000; index += 1) assert.equal(names.intern(`n${index}`), `n${index}`);
});

test('equal names have the same identity, and different names another', () => {
  const names = new Names();
  const identity = names.identity('shop.pay', 'orders', 'w1@shop');
  assert.deepEqual(identity, { task: 'shop.pay', queue: 'orders', worker: 'w1@shop' });
  assert.equal(names.identity('shop.pay', 'orders', 'w1@shop'), identity);
  for (const [task, queue, worker] of [
    ['shop.ship', 'orders', 'w1@shop'],
    ['shop.pay', 'parcels', 'w1@shop'],
    ['shop.pay', 'orders', 'w2@shop'],
    ['orders', 'shop.pay', 'w1@shop'],
  ] as const)
    assert.notEqual(names.identity(task, queue, worker), identity);
});

test('an unknown part is unknown, whatever the other parts are', () => {
  const names = new Names();
  assert.deepEqual(names.identity('', '', 'w1@shop'), {
    task: 'unknown',
    queue: 'unknown',
    worker: 'w1@shop',
  });
  assert.deepEqual(names.identity('__proto__', '', 'constructor'), {
    task: '__proto__',
    queue: 'unknown',
    worker: 'constructor',
  });
});

test('beyond the limit all identities are made anew, with the same names', () => {
  const names = new Names();
  const first = names.identity('t0', 'q', 'w0');
  for (let index = 0; index < 50_000; index += 1)
    names.identity(`t${index % 100}`, 'q', `w${Math.floor(index / 100)}`);
  assert.equal(names.identity('t0', 'q', 'w0'), first, 'however many have the same names');
  names.identity('one too many', '', 'w0');
  assert.notEqual(names.identity('t0', 'q', 'w0'), first);
  assert.deepEqual(names.identity('t0', 'q', 'w0'), first);
});

test('with the longest names they are dropped earlier', () => {
  const names = new Names();
  const longest = (text: string): string => text.padEnd(255, '\u4e00');
  const first = names.identity(longest('n0'), longest('q'), longest('w'));
  for (let index = 0; index < 7_800; index += 1)
    names.identity(longest(`n${index}`), longest('q'), longest('w'));
  assert.equal(names.identity(longest('n0'), longest('q'), longest('w')), first);
  for (let index = 7_800; index < 8_000; index += 1) names.identity(longest(`n${index}`), '', longest('w'));
  assert.notEqual(names.identity(longest('n0'), longest('q'), longest('w')), first);
});
