/** Publishes events as Celery does on either broker, for tests that need no workers. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { connect } from 'amqplib';
import { openRedisPublisher } from '../broker/redis/redis-publisher.ts';

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

/** Lists of events, as Celery sends those of tasks when there are many. */
export function inLists(events: readonly EventFields[], eventsAList: number): readonly RawPublish[] {
  return Array.from({ length: Math.ceil(events.length / eventsAList) }, (_, list) =>
    listOf(events.slice(list * eventsAList, (list + 1) * eventsAList)),
  );
}

/** One list; or the bytes of one. */
export function listOf(events: readonly EventFields[] | Buffer): RawPublish {
  const body = Buffer.isBuffer(events) ? events : Buffer.from(JSON.stringify(events));
  return { routingKey: 'task.multi', body, contentType: 'application/json', contentEncoding: 'utf-8' };
}

/** Celery's own default. */
const EXCHANGE = 'celeryev';
/** A broker that is up answers in milliseconds; on a busy machine, in a second or two. */
const CONNECT_MS = 20_000;
/** Not to fill the memory of either side. */
const PORTION = 1000;

/**
 * Publishes each event as a message of its own; resolves once the broker has taken all, with whether somebody received the last.
 * @param url of RabbitMQ or Redis
 */
export function publish(url: string, events: readonly EventFields[], exchange = EXCHANGE): Promise<boolean> {
  return publishRaw(
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
export function publishRaw(
  url: string,
  messages: readonly RawPublish[],
  exchange = EXCHANGE,
): Promise<boolean> {
  const publishTo = url.startsWith('redis:') ? publishToRedis : publishToRabbitmq;
  return publishTo(url, messages, exchange);
}

async function publishToRedis(
  url: string,
  messages: readonly RawPublish[],
  exchange: string,
): Promise<boolean> {
  const { client, publish: send } = await openRedisPublisher(url);
  try {
    const rest = messages.map((message) => ({
      ...{ contentType: '', contentEncoding: '', headers: {} },
      ...message,
    }));
    // The database is in the names of the channels.
    const channels = { prefix: `${new URL(url).pathname}.` };
    let receivers = 0;
    while (rest.length > 0) receivers = await send(exchange, rest.splice(0, PORTION), channels);
    return receivers > 0;
  } finally {
    client.disconnect();
  }
}

async function publishToRabbitmq(
  url: string,
  messages: readonly RawPublish[],
  exchange: string,
): Promise<boolean> {
  const connection = await connected(url);
  // Its operations then reject; without a listener it would be an uncaught exception, and they would never end.
  connection.on('error', () => undefined);
  try {
    const channel = await connection.createConfirmChannel();
    channel.on('error', () => undefined);
    await channel.assertExchange(exchange, 'topic', { durable: true, autoDelete: false });
    let isReceived = true;
    // It comes before the confirmation.
    channel.on('return', () => {
      isReceived = false;
    });
    for (const [index, { routingKey, body, ...options }] of messages.entries()) {
      const mandatory = index === messages.length - 1;
      channel.publish(exchange, routingKey, body, { ...options, deliveryMode: 1, mandatory });
      if (index % PORTION === PORTION - 1) await channel.waitForConfirms();
    }
    await channel.waitForConfirms();
    return isReceived;
  } finally {
    await connection.close();
  }
}

/** If the broker goes away at the wrong moment, the timers of amqplib remain, and keep the process alive. */
function withoutHeartbeats(url: string): string {
  const silent = new URL(url);
  silent.searchParams.set('heartbeat', '0');
  return silent.href;
}

/** amqplib does not say so if the broker goes away during the handshake. */
async function connected(url: string): ReturnType<typeof connect> {
  const late = new AbortController();
  const tooLate = delay(CONNECT_MS, undefined, { signal: late.signal }).then(() => {
    throw new Error('the broker does not answer');
  });
  try {
    return await Promise.race([connect(withoutHeartbeats(url)), tooLate]);
  } finally {
    late.abort();
    tooLate.catch(() => undefined);
  }
}
