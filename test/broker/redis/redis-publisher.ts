/** Publishes events to Redis like a Celery worker: with its own connection and in kombu’s envelope (transport/virtual/base.py). */
import { randomUUID } from 'node:crypto';
import type { TestContext } from 'node:test';
import { Redis as Client } from 'ioredis';
import type { SentMessage } from '../conformance.ts';

/** The names of the channels. */
export interface Channels {
  /** Before the exchange; default `/0.`. */
  readonly prefix?: string;
  /** Whether the routing key follows; default true. Without one, kombu adds nothing. */
  readonly patterns?: boolean;
}

export interface RedisPublisher {
  /** For other commands. */
  readonly client: Client;
  /** Resolves when the server has taken all, with how many subscribers took the last one. */
  publish(exchange: string, messages: readonly SentMessage[], channels?: Channels): Promise<number>;
  /** Publishes the text as it is. */
  publishRaw(channel: string, text: Buffer | string): Promise<number>;
}

/** Until the end of the test. */
export async function startRedisPublisher(t: TestContext, url: string): Promise<RedisPublisher> {
  const publisher = await openRedisPublisher(url);
  t.after(() => publisher.client.disconnect());
  return publisher;
}

/**
 * Its client is to be disconnected.
 * @param url with the credentials, if any
 */
export async function openRedisPublisher(url: string): Promise<RedisPublisher> {
  const client = new Client(url, { lazyConnect: true, retryStrategy: null, protocol: 2 });
  client.on('error', () => undefined);
  await client.connect();
  return {
    client,
    async publish(exchange, messages, { prefix = '/0.', patterns = true } = {}) {
      const taken = messages.map((message) => {
        const tail = patterns && message.routingKey !== '' ? `/${message.routingKey}` : '';
        return client.publish(`${prefix}${exchange}${tail}`, envelopeOf(exchange, message));
      });
      return (await Promise.all(taken)).at(-1) ?? 0;
    },
    publishRaw: (channel, text) => client.publish(channel, text),
  };
}

export function envelopeOf(exchange: string, message: SentMessage): string {
  const { routingKey, contentType, contentEncoding, headers, body } = message;
  const envelope = {
    body: body.toString('base64'),
    'content-encoding': contentEncoding === '' ? null : contentEncoding,
    'content-type': contentType === '' ? null : contentType,
    headers,
    properties: {
      delivery_mode: 1,
      delivery_info: { exchange, routing_key: routingKey },
      priority: 0,
      body_encoding: 'base64',
      delivery_tag: randomUUID(),
    },
  };
  // As Python writes JSON by default.
  return JSON.stringify(envelope).replaceAll(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
