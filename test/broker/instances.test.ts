/** Instances that export one service find each other at both brokers, and leave nothing in the log of the broker while they are alone. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEADLINE_MS } from '../deadline.ts';
import { BROKER_NAMES, type BrokerName, borrowBroker } from '../real/brokers.ts';
import { until } from '../until.ts';
import { amqpTransport } from './amqp/amqp-transport.ts';
import { addressOf } from './observed-session.ts';
import { redisTransport } from './redis/redis-transport.ts';

const NEVER = new AbortController().signal;

async function open(name: BrokerName, url: string, exports: string, isObserver = false) {
  const ending = new AbortController();
  const transport = name === 'RabbitMQ' ? amqpTransport() : redisTransport();
  const opening = await transport.open({
    ...{ url: addressOf(url), connectTimeoutMs: DEADLINE_MS, bodyBytesMax: 1000, exports, isObserver },
    ...{ onExchangeDeclared() {}, onPublishing() {}, onShed() {}, signal: ending.signal },
  });
  assert.ok(opening.kind === 'opened');
  const ended = opening.session.receive(() => undefined);
  return {
    others: async () => opening.session.instances?.(NEVER),
    async end() {
      ending.abort();
      await ended;
    },
  };
}

for (const name of BROKER_NAMES) {
  test(`${name}: instances of one service are counted, without the one that asks and without checks`, async (t) => {
    const broker = await borrowBroker(name);
    t.after(() => broker.remove());
    const { url } = broker;
    const first = await open(name, url, 'shop');
    const check = await open(name, url, 'shop', true);
    assert.deepEqual([await first.others(), await first.others(), await check.others()], [0, 0, 1]);
    const second = await open(name, url, 'shop');
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
    await check.end();
    await first.end();
  });
}
