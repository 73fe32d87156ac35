/** A session whose reader takes long over each message, at a broker that sends any bytes. */
import type { TestContext } from 'node:test';
import { Log } from '../log.ts';
import { addressOf, observeSession } from '../observed-session.ts';
import { amqpTransport } from './amqp-transport.ts';
import { content, field, tagged } from './frames.ts';
import { startScriptedBroker } from './scripted-broker.ts';

const MESSAGES = 40;
const MESSAGE_MS = 10;
const CHANNEL = 1;

/** What each message says, in the order in which they are sent. */
export const NUMBERS: readonly number[] = [...Array(MESSAGES).keys()];

/** @returns `chunk` has all of the messages */
export async function slowReader(t: TestContext) {
  const broker = await startScriptedBroker(t);
  const received = new Log<number>();
  const session = observeSession(t, amqpTransport({ heartbeatS: 0 }), {
    url: addressOf(broker.url),
    deliver(message) {
      received.add(JSON.parse(String(message.body)));
      for (const endMs = performance.now() + MESSAGE_MS; performance.now() < endMs; );
    },
  });
  await session.ready();
  const headers = field('hostname', tagged('V'));
  const messages = NUMBERS.map((number) =>
    broker.deliver(content(CHANNEL, headers, Buffer.from(String(number)))),
  );
  return { ...broker, ...session, received, chunk: Buffer.concat(messages) };
}
