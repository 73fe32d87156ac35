/** Chunks with many slow messages, from a broker that sends any bytes: all are delivered, in order. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NUMBERS, slowReader } from './slow-reader.ts';

test('many messages in one chunk are delivered in order', async (t) => {
  const { send, chunk, received } = await slowReader(t);
  send(chunk);
  assert.deepEqual(await received.reaches(NUMBERS.length), NUMBERS);
});

test('all messages are delivered before the session ends, even if the broker has closed the connection', async (t) => {
  const { sendLast, chunk, received, ended } = await slowReader(t);
  sendLast(chunk);
  assert.equal((await ended).kind, 'lost');
  assert.deepEqual(received.items, NUMBERS);
});
