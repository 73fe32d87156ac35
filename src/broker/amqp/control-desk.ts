/**
 * Where the replies to remote control come in on one connection: an exclusive queue of ours, bound to Celery’s exchange of
 * replies. It asks nothing.
 */
import { randomUUID } from 'node:crypto';
import type { Channel, ChannelModel } from 'amqplib';
import { reasonOf } from '../../errors.ts';
import { type ControlNames, controlNames } from '../control/request.ts';
import { Refusal } from '../server/refusal.ts';
import { CONSUMER_TAG } from './deliveries.ts';
import { REPLY, replyCode } from './failure.ts';
import { onOwnChannel } from './topology.ts';

/** Replies that nobody fetches do not stay. */
const REPLY_TTL_MS = 60_000;
const REPLY_QUEUE_BYTES_MAX = 64 * 1024 * 1024;

/** What happens to it, besides replies. */
export interface DeskObserver {
  /** Nobody receives what is published. */
  readonly onReturn: () => void;
  readonly onError: (error: Error) => void;
  /** The queue is gone. */
  readonly onCancel: () => void;
}

export interface Desk {
  readonly channel: Channel;
  readonly names: ControlNames;
}

/** @throws Refusal if that is not allowed */
export async function openDesk(
  model: ChannelModel,
  namespace: string,
  observer: DeskObserver,
): Promise<Desk> {
  const names = controlNames(namespace, randomUUID());
  await ensureReplyExchange(model, names.replies);
  const channel = await model.createChannel();
  channel.on('error', observer.onError);
  channel.on('return', observer.onReturn);
  await bindReplyQueue(channel, names, observer.onCancel);
  return { channel, names };
}

export async function exists(model: ChannelModel, exchange: string): Promise<boolean> {
  try {
    await onOwnChannel(model, (channel) => channel.checkExchange(exchange));
    return true;
  } catch (error) {
    if (replyCode(error) === REPLY.NOT_FOUND) return false;
    throw error;
  }
}

/** Declared as workers do, unless it exists: it goes with a restart of the broker. */
async function ensureReplyExchange(model: ChannelModel, exchange: string): Promise<void> {
  if (await exists(model, exchange)) return;
  const flags = { durable: false, autoDelete: false, internal: false };
  try {
    await onOwnChannel(model, (channel) => channel.assertExchange(exchange, 'direct', flags));
  } catch (error) {
    // It has been declared since the check, with other flags.
    if (replyCode(error) === REPLY.PRECONDITION_FAILED) return;
    if (replyCode(error) !== REPLY.ACCESS_REFUSED) throw error;
    const hint =
      'a Celery worker declares it with its first reply; or grant the user the configure permission';
    throw new Refusal(`there is no exchange "${exchange}" yet, and we may not declare it; ${hint}`, {
      cause: error,
    });
  }
}

async function bindReplyQueue(
  channel: Channel,
  { replies, replyKey, replyQueue }: ControlNames,
  onCancel: () => void,
): Promise<void> {
  try {
    await channel.assertQueue(replyQueue, {
      exclusive: true,
      autoDelete: true,
      durable: false,
      messageTtl: REPLY_TTL_MS,
      arguments: { 'x-max-length-bytes': REPLY_QUEUE_BYTES_MAX },
    });
    await channel.bindQueue(replyQueue, replies, replyKey);
    // All that amqplib has for it: replies do not pass through it.
    await channel.consume(replyQueue, onCancel, { noAck: true, consumerTag: CONSUMER_TAG });
  } catch (error) {
    if (replyCode(error) !== REPLY.ACCESS_REFUSED) throw error;
    const rights = `configure, write and read on "*.${replies}", read on "${replies}"`;
    throw new Refusal(`${reasonOf(error)}; the user needs these permissions: ${rights}`, { cause: error });
  }
}
