/** Publishes events as Celery does, for tests that need no workers. */
import { randomUUID } from 'node:crypto';
import { connect } from 'amqplib';

export type EventFields = Readonly<Record<string, unknown>> & { readonly type: string };

/** A valid event of that type. */
export function event(type: string, fields: Readonly<Record<string, unknown>> = {}): EventFields {
  const common = { type, hostname: 'w1@test', pid: 17, clock: 1, utcoffset: 0, timestamp: Date.now() / 1000 };
  return type.startsWith('worker-') ? { ...common, ...fields } : { ...common, uuid: randomUUID(), ...fields };
}

export interface RawPublish {
  readonly routingKey: string;
  readonly body: Buffer;
  readonly contentType?: string;
  readonly contentEncoding?: string;
  readonly headers?: Readonly<Record<string, unknown>>;
}

/** Celery's own default. */
const EXCHANGE = 'celeryev';

/** Publishes each event as a message of its own; resolves once the broker has confirmed all. */
export async function publish(
  url: string,
  events: readonly EventFields[],
  exchange = EXCHANGE,
): Promise<void> {
  await publishRaw(
    url,
    events.map((fields) => ({
      routingKey: fields.type.replaceAll('-', '.'),
      body: Buffer.from(JSON.stringify(fields)),
      contentType: 'application/json',
      contentEncoding: 'utf-8',
      headers: { hostname: fields['hostname'] },
    })),
    exchange,
  );
}

/** As {@link publish}, for any bytes. */
export async function publishRaw(
  url: string,
  messages: readonly RawPublish[],
  exchange = EXCHANGE,
): Promise<void> {
  const connection = await connect(url);
  try {
    const channel = await connection.createConfirmChannel();
    await channel.assertExchange(exchange, 'topic', { durable: true, autoDelete: false });
    for (const [index, { routingKey, body, ...options }] of messages.entries()) {
      channel.publish(exchange, routingKey, body, { ...options, deliveryMode: 1 });
      // Not to fill the memory of either side.
      if (index % 1000 === 999) await channel.waitForConfirms();
    }
    await channel.waitForConfirms();
  } finally {
    await connection.close();
  }
}
