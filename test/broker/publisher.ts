/** Publishes events like a Celery worker, with amqplib and its own connection. */
import type { TestContext } from 'node:test';
import { connect } from 'amqplib';
import type { SentMessage } from './conformance.ts';

export interface Publisher {
  /** Resolves when the broker has confirmed all. */
  publish(exchange: string, messages: readonly SentMessage[]): Promise<void>;
  /** Declares an exchange with other flags; resolves false if the broker refuses. */
  declare(exchange: string, type: string, flags: { durable: boolean; autoDelete: boolean }): Promise<boolean>;
}

export async function startPublisher(t: TestContext, port: number, vhost = '/'): Promise<Publisher> {
  const connection = await connect({ hostname: '127.0.0.1', port, vhost });
  connection.on('error', () => undefined);
  t.after(() => connection.close());
  return {
    async publish(exchange, messages) {
      const channel = await connection.createConfirmChannel();
      for (const { routingKey, contentType, contentEncoding, headers, body } of messages) {
        const properties = {
          ...(contentType === '' ? {} : { contentType }),
          ...(contentEncoding === '' ? {} : { contentEncoding }),
          ...(Object.keys(headers).length === 0 ? {} : { headers }),
        };
        channel.publish(exchange, routingKey, body, properties);
      }
      await channel.waitForConfirms();
      await channel.close();
    },
    async declare(exchange, type, flags) {
      const channel = await connection.createChannel();
      channel.on('error', () => undefined);
      try {
        await channel.assertExchange(exchange, type, flags);
      } catch {
        return false;
      }
      await channel.close();
      return true;
    },
  };
}
