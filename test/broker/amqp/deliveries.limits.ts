/** How long the event loop is blocked by a chunk with many slow messages. */
import { test } from 'node:test';
import { bound } from '../../bound.ts';
import { longestTurnMs } from '../../longest-turn.ts';
import { NUMBERS, slowReader } from './slow-reader.ts';

const TURN_MS_MAX = 50;

test('of many messages in one chunk, as many are delivered in each turn as there is time for', async (t) => {
  const { send, chunk, received } = await slowReader(t);
  const turnMs = await longestTurnMs(() => {
    send(chunk);
    return received.reaches(NUMBERS.length);
  });
  bound(t, 'longest turn while a chunk of slow messages is delivered', turnMs, TURN_MS_MAX, 'ms');
});
