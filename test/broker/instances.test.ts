/** Instances that export one service find each other at both brokers, and leave nothing in the log of the broker while they are alone. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { BROKER_NAMES, type BrokerName, borrowBroker } from '../real/brokers.ts';
import { until } from '../until.ts';
import { amqpTransport } from './amqp/amqp-transport.ts';
import { addressOf, observeSession } from './observed-session.ts';
import { redisTransport } from './redis/redis-transport.ts';

const NEVER = new AbortController().signal;

function open(t: TestContext, name: BrokerName, url: string, isObserver = false) {
  const transport = name === 'RabbitMQ' ? amqpTransport() : redisTransport();
  const { session, end } = observeSession(t, transport, { url: addressOf(url), exports: 'shop', isObserver });
  return { others: async () => (await session()).instances?.(NEVER), end };
}

for (const name of BROKER_NAMES) {
  test(`${name}: instances of one service are counted, without the one that asks and without checks`, async (t) => {
    const broker = await borrowBroker(name);
    t.after(() => broker.remove());
    const { url } = broker;
    const first = open(t, name, url);
    const check = open(t, name, url, true);
    assert.deepEqual([await first.others(), await first.others(), await check.others()], [0, 0, 1]);
    const second = open(t, name, url);
    // It marks itself once it is open, at the latest when it looks.
    const both = async () => [await second.others(), await first.others()].join();
    await until('each finds the other', async () => (await both()) === '1,1');
    assert.ok(((await check.others()) ?? 0) >= 2);
    await second.end();
    await until(
      'the second one is gone',
      async () => (await first.others()) === 0,
      () => 'it is counted',
    );
  });
}
