/**
 * What we declare at the broker: Celery’s event exchange if it is missing, and our own queue bound to it. It changes
 * nothing that exists, and touches none of Celery’s queues.
 */
import { randomUUID } from 'node:crypto';
import type { Channel, ChannelModel } from 'amqplib';
import { reasonOf } from '../../text/errors.ts';
import type { AmqpSettings } from '../broker.ts';
import { Refusal } from '../server/refusal.ts';
import { REPLY, replyCode } from './failure.ts';

/** With the exchange to read from. */
export interface AmqpTransportSettings extends AmqpSettings {
  readonly eventExchange: string;
}

/** A healthy bridge never lags by a minute. */
const QUEUE_MESSAGE_TTL_MS = 60_000;
/** With the limit on bytes, it protects the broker’s memory; the oldest messages are dropped first. */
const QUEUE_LENGTH_MAX = 100_000;
/** The binding key of a topic exchange that matches every routing key. */
const EVERYTHING = '#';

/**
 * Declares the event exchange as Celery does, unless it exists, with whatever flags. To declare an existing exchange with
 * other flags is an error, and an error closes the channel: so it is checked first, on a channel of its own. Rejects with a
 * Refusal or amqplib’s error.
 * @param isObserver declares nothing
 */
export async function ensureExchange(
  model: ChannelModel,
  exchange: string,
  isObserver: boolean,
): Promise<'found' | 'declared' | 'missing'> {
  try {
    await onOwnChannel(model, (channel) => channel.checkExchange(exchange));
    return 'found';
  } catch (error) {
    if (replyCode(error) !== REPLY.NOT_FOUND) throw error;
    if (isObserver) return 'missing';
    return (await declareExchange(model, exchange)) ? 'declared' : 'found';
  }
}

/** Uses exactly the flags of Celery’s workers: with others, their declaration would be refused. */
async function declareExchange(model: ChannelModel, exchange: string): Promise<boolean> {
  const flags = { durable: true, autoDelete: false, internal: false };
  try {
    await onOwnChannel(model, (channel) => channel.assertExchange(exchange, 'topic', flags));
    return true;
  } catch (error) {
    const code = replyCode(error);
    // It has been declared since the check, with other flags.
    if (code === REPLY.PRECONDITION_FAILED) return false;
    if (code !== REPLY.ACCESS_REFUSED) throw error;
    const hint =
      'start a Celery worker, which declares it, or grant the user the configure permission for it';
    throw new Refusal(`there is no exchange "${exchange}" yet, and we may not declare it; ${hint}`, {
      cause: error,
    });
  }
}

/**
 * Declares a queue that the broker deletes with our connection, and binds it. Rejects with a Refusal or amqplib’s error.
 * @param exchange undefined: it is bound to none, and receives no events
 */
export async function bindOwnQueue(
  channel: Channel,
  settings: AmqpTransportSettings,
  exchange: string | undefined,
): Promise<string> {
  const queue = `${settings.eventQueuePrefix}.celery-otel.${randomUUID()}`;
  try {
    await channel.assertQueue(queue, {
      exclusive: true,
      autoDelete: true,
      durable: false,
      messageTtl: QUEUE_MESSAGE_TTL_MS,
      maxLength: QUEUE_LENGTH_MAX,
      // amqplib has no option for it.
      arguments: { 'x-max-length-bytes': settings.eventQueueBytesMax },
    });
    if (exchange !== undefined) await channel.bindQueue(queue, exchange, EVERYTHING);
  } catch (error) {
    if (replyCode(error) !== REPLY.ACCESS_REFUSED) throw error;
    const rights = `configure, write and read on "${settings.eventQueuePrefix}.*", read on "${settings.eventExchange}"`;
    throw new Refusal(`${reasonOf(error)}; the user needs these permissions: ${rights}`, { cause: error });
  }
  return queue;
}

/** An error closes the channel, so a call that may fail has its own. */
export async function onOwnChannel<T>(
  model: ChannelModel,
  act: (channel: Channel) => Promise<T>,
): Promise<T> {
  const channel = await model.createChannel();
  // An error also rejects the call, where it is handled.
  channel.on('error', () => undefined);
  const result = await act(channel);
  await channel.close();
  return result;
}
