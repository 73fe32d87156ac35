/** Listening to a real RabbitMQ that restarts: messages published while it is connected are delivered. */
import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { connect } from 'amqplib';
import type { RawMessage } from '../../../src/broker/broker.ts';
import { parseBrokerUrls } from '../../../src/broker/broker-url.ts';
import { listen } from '../../../src/broker/session-loop.ts';
import type { SelfEvent } from '../../../src/self/self-event.ts';
import { freePort } from '../../real/free-port.ts';
import { type RabbitMq, startRabbitmq } from '../../real/rabbitmq.ts';
import { SETTINGS } from '../broker-settings.ts';
import { Log } from '../log.ts';
import { startPublisher } from '../publisher.ts';

const CONNECTED_WITHIN_MS = 5000;

let rabbitmq: RabbitMq;
before(async () => {
  rabbitmq = await startRabbitmq();
});
after(() => rabbitmq.remove());

function listenTo(t: TestContext, addresses: string) {
  const parsed = parseBrokerUrls(addresses);
  assert.ok(parsed.ok);
  const told = new Log<SelfEvent>();
  const bodies = new Log<string>();
  const stopping = new AbortController();
  const listener = listen({
    ...SETTINGS,
    ...{ connectTimeoutMs: 5000, bodyBytesMax: 2_097_152 },
    urls: parsed.urls,
    service: 'shop',
    deliver: (message: RawMessage) => bodies.add(String(message.body)),
    tell: (event) => told.add(event),
    random: Math.random,
    signal: stopping.signal,
  });
  t.after(async () => {
    stopping.abort();
    assert.equal(await listener.done, 'stopped');
  });
  /** Resolves once it has connected for the nth time. */
  const connected = (times: number) =>
    told.find(() => told.items.filter((event) => event.kind === 'broker-connected').length >= times);
  return { listener, told, bodies, connected };
}

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
  const first = await early.told.find(() => true);
  assert.ok(first.kind === 'broker-session-ended');
  assert.match(first.reason, /ECONNREFUSED/);
  assert.equal(early.listener.connected(), false);
  return early;
}

test('after each broker restart it reconnects within seconds and misses nothing', async (t) => {
  const { listener, told, bodies, connected } = listenTo(t, rabbitmq.url);
  await connected(1);
  const publishing = publishForever(t, SETTINGS.eventExchange);
  await bodies.reaches(20);

  for (const [restarts, end] of [rabbitmq.stop, rabbitmq.kill].entries()) {
    const before = told.items.length;
    await end.call(rabbitmq);
    await told.find((event) => event.kind === 'broker-session-ended', before);
    assert.equal(listener.connected(), false);
    const early = await listenTooEarly(t);
    await rabbitmq.start();
    const up = performance.now();
    await Promise.all([connected(restarts + 2), early.connected(1)]);
    assert.ok(performance.now() - up < CONNECTED_WITHIN_MS, 'it was too late');
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
    const [lost, then] = told.items.slice(before).flatMap((event) => ('end' in event ? [event.end] : []));
    assert.deepEqual([lost, then], ['lost', 'unreachable']);
  }
});

test('if the first of two brokers is down, the second is used at once', async (t) => {
  const { told, connected, bodies } = listenTo(t, `amqp://127.0.0.1:${await freePort()};${rabbitmq.url}`);
  await connected(1);
  assert.deepEqual(
    told.items.map((event) => ('retryInMs' in event ? [event.end, event.retryInMs] : event.kind)),
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
