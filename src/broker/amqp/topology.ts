/**
 * Declares what a session needs at the broker: Celery’s event exchange if it is missing, and our own queue, bound to it. It
 * changes nothing that exists, and does not touch Celery’s queues.
 */
import { randomUUID } from 'node:crypto';
import type { Channel, ChannelModel } from 'amqplib';
import { reasonOf } from '../../text/errors.ts';
import { Refusal } from '../server/refusal.ts';
import { REPLY, replyCode } from './failure.ts';
import type { AmqpSettings } from './settings.ts';

/** The settings of AMQP brokers, and the exchange to read from. */
export interface AmqpTransportSettings extends AmqpSettings {
  readonly eventExchange: string;
}

/** How long a message may wait in our queue: a healthy bridge never lags by a minute. */
const QUEUE_MESSAGE_TTL_MS = 60_000;
/** How many messages may wait in our queue. Together with the byte limit, this protects the broker’s memory; the oldest messages are dropped first. */
const QUEUE_LENGTH_MAX = 100_000;
/** The binding key of a topic exchange that matches every routing key. */
const EVERYTHING = '#';

/**
 * Declares the event exchange as Celery does if it is missing; one that exists is used whatever its flags are. Declaring an existing
 * exchange with other flags is an error that closes the channel, so it is checked first, on a separate channel. Rejects with a
 * Refusal or amqplib’s error.
 * @param isObserver if true, nothing is declared
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

/** Declares the exchange with exactly the flags of Celery’s workers: with others, their own declaration would fail. */
async function declareExchange(model: ChannelModel, exchange: string): Promise<boolean> {
  const flags = { durable: true, autoDelete: false, internal: false };
  try {
    await onOwnChannel(model, (channel) => channel.assertExchange(exchange, 'topic', flags));
    return true;
  } catch (error) {
    const code = replyCode(error);
    // Someone declared it after our check, with other flags.
    if (code === REPLY.PRECONDITION_FAILED) return false;
    if (code !== REPLY.ACCESS_REFUSED) throw error;
    const hint =
      'start a Celery worker, which declares it, or grant the user the configure permission for it';
    throw new Refusal(`there is no exchange "${exchange}" yet, and the user may not declare it; ${hint}`, {
      cause: error,
    });
  }
}

/**
 * Declares a queue that the broker deletes with our connection, and binds it. Rejects with a Refusal or amqplib’s error.
 * @param exchange undefined: the queue is not bound, and receives no events
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
      // amqplib has no option for this argument.
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

/** Runs `act` on a channel of its own, because an error closes the channel. */
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
