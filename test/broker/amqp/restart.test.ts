/** Listening to a real RabbitMQ that restarts: messages published while it is connected are delivered. */
import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { connect } from 'amqplib';
import { freePort } from '../../real/free-port.ts';
import { type RabbitMq, startRabbitmq } from '../../real/rabbitmq.ts';
import { SETTINGS } from '../broker-settings.ts';
import { startPublisher } from '../publisher.ts';
import { listenTo } from './listen-to.ts';

let rabbitmq: RabbitMq;
before(async () => {
  rabbitmq = await startRabbitmq();
});
after(() => rabbitmq.remove());

/** Publishes events 1, 2, 3 … until the end of the test, through every outage. */
function publishForever(t: TestContext, exchange: string): { readonly last: () => number } {
  let number = 0;
  let over = false;
  async function publishWhileConnected(): Promise<void> {
    const connection = await connect({ hostname: '127.0.0.1', port: rabbitmq.port });
    connection.on('error', () => undefined);
    const channel = await connection.createConfirmChannel();
    channel.on('error', () => undefined);
    while (!over) {
      number += 1;
      channel.publish(exchange, 'task.started', Buffer.from(String(number)));
      await channel.waitForConfirms();
      await delay(2);
    }
    await connection.close();
  }
  const publishing = (async () => {
    while (!over) {
      try {
        await publishWhileConnected();
      } catch {
        // The broker is unavailable, as intended.
        await delay(50);
      }
    }
  })();
  t.after(async () => {
    over = true;
    await publishing;
  });
  return { last: () => number };
}

/** A listener that waits for a broker that does not run yet. */
async function listenTooEarly(t: TestContext) {
  const early = listenTo(t, rabbitmq.url);
  const first = await early.reported.find(() => true);
  assert.ok(first.kind === 'broker-session-ended');
  assert.match(first.reason, /ECONNREFUSED/);
  assert.equal(early.listener.connected(), false);
  return early;
}

test('after each broker restart it reconnects and misses nothing', async (t) => {
  const { listener, reported, bodies, connected } = listenTo(t, rabbitmq.url);
  await connected(1);
  const publishing = publishForever(t, SETTINGS.eventExchange);
  await bodies.reaches(20);

  for (const [restarts, end] of [rabbitmq.stop, rabbitmq.kill].entries()) {
    const before = reported.items.length;
    await end.call(rabbitmq);
    await reported.find((event) => event.kind === 'broker-session-ended', before);
    assert.equal(listener.connected(), false);
    const early = await listenTooEarly(t);
    await rabbitmq.start();
    await Promise.all([connected(restarts + 2), early.connected(1)]);
    const first = publishing.last() + 1;
    for (const log of [bodies, early.bodies]) {
      await log.find((body) => Number(body) >= first + 100);
      const after = log.items.map(Number).filter((number) => number >= first);
      assert.deepEqual(
        after,
        Array.from(after, (_, index) => first + index),
        'all of them, in order, once',
      );
    }
    const [lost, then] = reported.items.slice(before).flatMap((event) => ('end' in event ? [event.end] : []));
    assert.deepEqual([lost, then], ['lost', 'unreachable']);
  }
});

test('if the first of two brokers is down, the second is used at once', async (t) => {
  const { reported, connected, bodies } = listenTo(t, `amqp://127.0.0.1:${await freePort()};${rabbitmq.url}`);
  await connected(1);
  assert.deepEqual(
    reported.items.map((event) => ('retryInMs' in event ? [event.end, event.retryInMs] : event.kind)),
    [['unreachable', 0], 'broker-connected'],
  );
  const publisher = await startPublisher(t, rabbitmq.port);
  await publisher.publish(SETTINGS.eventExchange, [
    {
      routingKey: 'worker.online',
      contentType: '',
      contentEncoding: '',
      headers: {},
      body: Buffer.from('hello'),
    },
  ]);
  assert.deepEqual(await bodies.reaches(1), ['hello']);
});
