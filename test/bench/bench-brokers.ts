/** The brokers of the benchmark: each starts, publishes bodies as Celery does, and names its bare consumer. It measures nothing. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { connect } from 'amqplib';
import { Redis } from 'ioredis';
import { borrowRabbitmq } from '../real/lent-rabbitmq.ts';
import { startRedis } from '../real/redis.ts';

export interface BenchBroker {
  readonly name: 'RabbitMQ' | 'Redis';
  readonly url: string;
  /** The script of a consumer that only parses JSON. */
  readonly bareConsumer: string;
  /** Resolves when the broker has all of them. */
  publish(bodies: readonly Buffer[]): Promise<void>;
  stop(): Promise<void>;
}

const ROUTING_KEY = 'task.multi';
const HEADERS = { hostname: 'worker-0@shop' };
const PROPERTIES = { contentType: 'application/json', contentEncoding: 'utf-8' };
/** Few enough for the buffers of Redis, which would disconnect a subscriber, and of which the bridge would drop some. */
const BATCH_BYTES = 1024 * 1024;

export async function rabbitmqBroker(): Promise<BenchBroker> {
  const rabbitmq = await borrowRabbitmq();
  const publisher = await connect(rabbitmq.url);
  const channel = await publisher.createConfirmChannel();
  await channel.assertExchange('celeryev', 'topic', { durable: true, autoDelete: false });
  return {
    name: 'RabbitMQ',
    url: rabbitmq.url,
    bareConsumer: './bare-consumer.ts',
    async publish(bodies) {
      for (const [index, body] of bodies.entries()) {
        channel.publish('celeryev', ROUTING_KEY, body, { ...PROPERTIES, headers: HEADERS, deliveryMode: 1 });
        if (index % 500 === 499) await channel.waitForConfirms();
      }
      await channel.waitForConfirms();
    },
    async stop() {
      await publisher.close();
      await rabbitmq.remove();
    },
  };
}

export async function redisBroker(): Promise<BenchBroker> {
  const redis = await startRedis();
  const publisher = new Redis(redis.url);
  return {
    name: 'Redis',
    url: redis.url,
    bareConsumer: './bare-subscriber.ts',
    async publish(bodies) {
      let pipeline = publisher.pipeline();
      let bytes = 0;
      for (const body of bodies) {
        const envelope = envelopeOf(body);
        pipeline.publish(`/0.celeryev/${ROUTING_KEY}`, envelope);
        bytes += envelope.length;
        if (bytes < BATCH_BYTES) continue;
        await pipeline.exec();
        await untilSent(publisher);
        [pipeline, bytes] = [publisher.pipeline(), 0];
      }
      await pipeline.exec();
    },
    async stop() {
      publisher.disconnect();
      await redis.stop();
    },
  };
}

/** kombu: transport/virtual/base.py, `Message`. */
function envelopeOf(body: Buffer): string {
  const delivery_info = { exchange: 'celeryev', routing_key: ROUTING_KEY };
  return JSON.stringify({
    body: body.toString('base64'),
    'content-encoding': PROPERTIES.contentEncoding,
    'content-type': PROPERTIES.contentType,
    headers: HEADERS,
    properties: {
      ...{ delivery_mode: 1, delivery_info, priority: 0 },
      ...{ body_encoding: 'base64', delivery_tag: randomUUID() },
    },
  });
}

/** Resolves when the server keeps nothing more for its subscribers. */
async function untilSent(publisher: Redis): Promise<void> {
  while (/ omem=[1-9]/u.test(String(await publisher.client('LIST', 'TYPE', 'PUBSUB')))) await delay(2);
}
