/**
 * What we need to find or make at the broker: Celery's event exchange, and a queue of our own on it. It changes
 * nothing that exists, and touches no queue of Celery's.
 */
import { randomUUID } from 'node:crypto';
import type { Channel, ChannelModel } from 'amqplib';
import type { AmqpSettings } from '../broker.ts';
import { REPLY, Refusal, reasonOf, replyCode } from './failure.ts';

/** A minute is ample for a bridge that lives; older news would only tell of a bridge that hangs. */
const QUEUE_MESSAGE_TTL_MS = 60_000;
/** With the bound on their bytes, the fuse of the broker's memory; the oldest go first. */
const QUEUE_LENGTH_MAX = 100_000;
/** All that is published to the exchange: a topic exchange's pattern for any routing key. */
const EVERYTHING = '#';

/**
 * Finds the event exchange, whatever its flags, and makes it as Celery does where there is none. An error closes its
 * channel, and a declaration with other flags than the existing ones is an error: hence a look first, and channels of
 * which nothing else hangs. Resolves with whether it was made; rejects with a Refusal or amqplib's error.
 */
export async function ensureExchange(model: ChannelModel, exchange: string): Promise<boolean> {
  try {
    await onThrowAwayChannel(model, (channel) => channel.checkExchange(exchange));
    return false;
  } catch (error) {
    if (replyCode(error) !== REPLY.NOT_FOUND) throw error;
    return declareExchange(model, exchange);
  }
}

/** With exactly the flags that Celery's workers declare it with: theirs would be refused otherwise. */
async function declareExchange(model: ChannelModel, exchange: string): Promise<boolean> {
  const flags = { durable: true, autoDelete: false, internal: false };
  try {
    await onThrowAwayChannel(model, (channel) => channel.assertExchange(exchange, 'topic', flags));
    return true;
  } catch (error) {
    const code = replyCode(error);
    // Somebody has made it since we looked, with flags of their own.
    if (code === REPLY.PRECONDITION_FAILED) return false;
    if (code !== REPLY.ACCESS_REFUSED) throw error;
    const hint = 'start a Celery worker, which makes it, or grant the user the configure permission for it';
    throw new Refusal(`there is no exchange "${exchange}" yet and we may not make it; ${hint}`, {
      cause: error,
    });
  }
}

/** Declares and binds a queue that is gone with its connection. Rejects with a Refusal or amqplib's error. */
export async function bindOwnQueue(channel: Channel, settings: AmqpSettings): Promise<string> {
  const queue = `${settings.eventQueuePrefix}.celery-otel.${randomUUID()}`;
  try {
    await channel.assertQueue(queue, {
      exclusive: true,
      autoDelete: true,
      durable: false,
      messageTtl: QUEUE_MESSAGE_TTL_MS,
      maxLength: QUEUE_LENGTH_MAX,
      // amqplib has no name for it.
      arguments: { 'x-max-length-bytes': settings.eventQueueBytesMax },
    });
    await channel.bindQueue(queue, settings.eventExchange, EVERYTHING);
  } catch (error) {
    if (replyCode(error) !== REPLY.ACCESS_REFUSED) throw error;
    const rights = `configure, write and read on "${settings.eventQueuePrefix}.*", read on "${settings.eventExchange}"`;
    throw new Refusal(`${reasonOf(error)}; the user needs these permissions: ${rights}`, { cause: error });
  }
  return queue;
}

async function onThrowAwayChannel<T>(model: ChannelModel, act: (channel: Channel) => Promise<T>): Promise<T> {
  const channel = await model.createChannel();
  // What closes the channel also rejects the call, which is where it is dealt with.
  channel.on('error', () => undefined);
  const result = await act(channel);
  await channel.close();
  return result;
}
