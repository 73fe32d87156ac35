/** Which replies are taken, which are not, and when no more are awaited. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Gathering } from '../../../src/broker/control/gathering.ts';
import type { RawMessage } from '../../../src/broker/raw-message.ts';

const NOTHING_UNTAKEN = { late: 0, tooLarge: 0, unreadable: 0, beyond: 0 };

function reply(more: Partial<RawMessage> = {}): RawMessage {
  return {
    ...{ arrivedAtMs: 1, exchange: '', routingKey: '', contentType: '', contentEncoding: '' },
    headers: { ticket: 'now' },
    body: Buffer.from('{}'),
    ...more,
  };
}

test('a reply counts by what it answers and whether it can be read', () => {
  const taken: RawMessage[] = [];
  const gathering = new Gathering('now', (each) => taken.push(each) < 0, 2);
  const good = reply();
  for (const each of [
    good,
    reply({ headers: { ticket: 'before' } }),
    reply({ headers: {} }),
    reply({ headers: undefined }),
    reply({ body: undefined }),
    reply({ headers: undefined, body: undefined }),
  ])
    gathering.offer(each);
  assert.deepEqual(taken, [good]);
  assert.equal(gathering.isDone, false);
  assert.deepEqual(gathering.answer(), {
    receivers: undefined,
    taken: 1,
    untaken: { late: 4, tooLarge: 2, unreadable: 1, beyond: 0 },
  });
});

test('it is done when all that are expected have replied, if the number of receivers is not known', () => {
  const gathering = new Gathering('now', ({ routingKey }) => routingKey === 'last');
  gathering.offer(reply());
  assert.equal(gathering.isDone, false);
  gathering.offer(reply({ routingKey: 'last' }));
  assert.equal(gathering.isDone, true);
});

test('it is done when every receiver has replied, and not before, whoever is expected', () => {
  const gathering = new Gathering('now', () => true);
  gathering.receivers = 2;
  gathering.offer(reply());
  assert.equal(gathering.isDone, false);
  gathering.offer(reply({ headers: { ticket: 'before' } }));
  assert.equal(gathering.isDone, false);
  gathering.offer(reply());
  assert.equal(gathering.isDone, true);
  const nobody = new Gathering('now', () => false);
  nobody.receivers = 0;
  assert.equal(nobody.isDone, true);
});

test('a flood of replies is bounded in number', () => {
  let taken = 0;
  const gathering = new Gathering('now', () => {
    taken += 1;
    return false;
  });
  for (let count = 0; count < 19_999; count += 1) gathering.offer(reply({ headers: { ticket: 'before' } }));
  assert.equal(gathering.isDone, false);
  gathering.offer(reply());
  assert.equal(gathering.isDone, true);
  assert.deepEqual(gathering.answer().untaken, { ...NOTHING_UNTAKEN, late: 19_999 });
  assert.equal(taken, 1);
});

test('a flood of replies is bounded in bytes', () => {
  const gathering = new Gathering('now', () => false);
  const body = Buffer.alloc(16 * 1024 * 1024);
  for (let count = 0; count < 5; count += 1) gathering.offer(reply({ body }));
  gathering.offer(reply({ body: Buffer.alloc(0) }));
  assert.deepEqual(gathering.answer(), {
    receivers: undefined,
    taken: 5,
    untaken: { ...NOTHING_UNTAKEN, beyond: 1 },
  });
});
