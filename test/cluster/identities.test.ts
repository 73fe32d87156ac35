import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Identities } from '../../src/cluster/identities.ts';

test('equal names have the same identity, and any other name another', () => {
  const identities = new Identities();
  const identity = identities.of('shop.pay', 'orders', 'w1@shop');
  assert.deepEqual(identity, { task: 'shop.pay', queue: 'orders', worker: 'w1@shop' });
  assert.equal(identities.of('shop.pay', 'orders', 'w1@shop'), identity);
  for (const [task, queue, worker] of [
    ['shop.ship', 'orders', 'w1@shop'],
    ['shop.pay', 'parcels', 'w1@shop'],
    ['shop.pay', 'orders', 'w2@shop'],
    ['orders', 'shop.pay', 'w1@shop'],
  ] as const)
    assert.notEqual(identities.of(task, queue, worker), identity);
});

test('what is not known is unknown, whatever its other parts are called', () => {
  const identities = new Identities();
  assert.deepEqual(identities.of('', '', 'w1@shop'), {
    task: 'unknown',
    queue: 'unknown',
    worker: 'w1@shop',
  });
  assert.deepEqual(identities.of('__proto__', '', 'constructor'), {
    task: '__proto__',
    queue: 'unknown',
    worker: 'constructor',
  });
});

test('it starts anew when there are too many, and gives the same names all the same', () => {
  const identities = new Identities();
  const first = identities.of('n0', '', 'w1@shop');
  for (let index = 0; index < 10_000; index += 1) identities.of(`n${index}`, '', 'w1@shop');
  assert.equal(identities.of('n0', '', 'w1@shop'), first);
  identities.of('one too many', '', 'w1@shop');
  assert.deepEqual(identities.of('n0', '', 'w1@shop'), first);
  assert.notEqual(identities.of('n0', '', 'w1@shop'), first);
});

test('with the longest names it starts anew earlier', () => {
  const identities = new Identities();
  const longest = (text: string): string => text.padEnd(255, '\u4e00');
  const first = identities.of(longest('n0'), longest('q'), longest('w'));
  for (let index = 0; index < 1_900; index += 1)
    identities.of(longest(`n${index}`), longest('q'), longest('w'));
  assert.equal(identities.of(longest('n0'), longest('q'), longest('w')), first);
  for (let index = 1_900; index < 2_000; index += 1) identities.of(longest(`n${index}`), '', longest('w'));
  assert.notEqual(identities.of(longest('n0'), longest('q'), longest('w')), first);
});
