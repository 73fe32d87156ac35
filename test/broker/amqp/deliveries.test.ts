/** Chunks with many slow messages, from a broker that sends any bytes. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { longestTurnMs } from '../../longest-turn.ts';
import { addressOf, observeSession } from '../observed-session.ts';
import { amqpTransport } from './amqp-transport.ts';
import { content, field, tagged } from './frames.ts';
import { startScriptedBroker } from './scripted-broker.ts';

const MESSAGES = 40;
const MESSAGE_MS = 10;
const TURN_MS_MAX = 50;
const CHANNEL = 1;

/** Processor time per message. */
async function slowReader(t: TestContext) {
  const broker = await startScriptedBroker(t);
  const received: number[] = [];
  const session = observeSession(t, amqpTransport({ heartbeatS: 0 }), {
    url: addressOf(broker.url),
    deliver(message) {
      received.push(JSON.parse(String(message.body)));
      const before = process.threadCpuUsage();
      for (let spentUs = 0; spentUs < MESSAGE_MS * 1000; ) {
        const { user, system } = process.threadCpuUsage(before);
        spentUs = user + system;
      }
    },
  });
  await session.ready();
  const headers = field('hostname', tagged('V'));
  const messages = Array.from({ length: MESSAGES }, (_, index) =>
    broker.deliver(content(CHANNEL, headers, Buffer.from(String(index)))),
  );
  return { ...broker, ...session, received, chunk: Buffer.concat(messages) };
}

test('many messages in one chunk are delivered in order, as many in each turn as there is time for', async (t) => {
  const { send, chunk, received } = await slowReader(t);
  const turnMs = await longestTurnMs(async () => {
    send(chunk);
    while (received.length < MESSAGES) await delay(5);
  });
  assert.deepEqual(received, [...Array(MESSAGES).keys()]);
  assert.ok(turnMs < TURN_MS_MAX, `${turnMs} ms`);
});

test('all messages are delivered before the session ends, even if the broker has closed the connection', async (t) => {
  const { sendLast, chunk, received, ended } = await slowReader(t);
  sendLast(chunk);
  assert.equal((await ended).kind, 'lost');
  assert.deepEqual(received, [...Array(MESSAGES).keys()]);
});
