/** How soon a session of every transport ends when it is asked to. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Transport } from '../../src/broker/broker.ts';
import { createRecordingTransport } from '../../src/broker/recording/transport.ts';
import { bound } from '../bound.ts';
import { startRabbitmq } from '../real/rabbitmq.ts';
import { startRedis } from '../real/redis.ts';
import { amqpTransport } from './amqp/amqp-transport.ts';
import { addressOf, observeSession } from './observed-session.ts';
import { fileOf, HEADER, lineOf } from './recording/replay.ts';
import { redisTransport } from './redis/redis-transport.ts';

const STOP_MS_MAX = 5000;

type Source = readonly [Transport, url: string, block?: () => Promise<unknown>];

/** Each with a source that is silent and open; one then takes no more messages. */
const TRANSPORTS: Readonly<Record<string, (t: TestContext) => Promise<Source>>> = {
  async AMQP(t) {
    const rabbitmq = await startRabbitmq();
    t.after(() => rabbitmq.remove());
    return [amqpTransport({ eventExchange: 'events' }), rabbitmq.url];
  },
  async 'AMQP during an alarm of RabbitMQ'(t) {
    const rabbitmq = await startRabbitmq();
    t.after(() => rabbitmq.remove());
    const block = () => rabbitmq.ctl('set_vm_memory_high_watermark', '0.0000001');
    return [amqpTransport(), rabbitmq.url, block];
  },
  async Redis(t) {
    const redis = await startRedis();
    t.after(() => redis.stop());
    return [redisTransport({ eventExchange: 'events', fanoutPatterns: false }), redis.url];
  },
  async 'a recording'(t) {
    return [createRecordingTransport(), `recording:${fileOf(t, HEADER, lineOf(0), lineOf(3_600_000))}`];
  },
};

for (const [name, start] of Object.entries(TRANSPORTS)) {
  test(`${name} stops promptly when it is asked to`, async (t) => {
    const [transport, url, block] = await start(t);
    const blocked = Promise.withResolvers<void>();
    const { ready, stopping, ended } = observeSession(t, transport, {
      ...{ url: addressOf(url), onPublishing: () => blocked.resolve() },
    });
    await ready();
    if (block !== undefined) {
      await block();
      await blocked.promise;
    }
    const asked = performance.now();
    stopping.abort();
    assert.deepEqual(await ended, { kind: 'stopped' });
    bound(t, `stop of a session, ${name}`, performance.now() - asked, STOP_MS_MAX, 'ms');
  });
}
