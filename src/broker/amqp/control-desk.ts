/**
 * Prepares one connection to receive the replies to remote control, at a “desk”: a channel with an exclusive queue of ours,
 * bound to Celery’s reply exchange. It sends no commands.
 */
import { randomUUID } from 'node:crypto';
import type { Channel, ChannelModel } from 'amqplib';
import { reasonOf } from '../../text/errors.ts';
import { pause } from '../../timing/pause.ts';
import { type ControlNames, controlNames } from '../control/request.ts';
import { Refusal } from '../server/refusal.ts';
import { CONSUMER_TAG } from './deliveries.ts';
import { REPLY, replyCode } from './failure.ts';
import { onOwnChannel } from './topology.ts';

/** How long a reply that nobody reads stays in the queue. */
const REPLY_TTL_MS = 60_000;
const REPLY_QUEUE_BYTES_MAX = 64 * 1024 * 1024;
/** How long to wait before another attempt to delete an exchange that is in use. */
const IN_USE_MS = 50;

/** Called for what happens to the desk, other than replies. */
export interface DeskObserver {
  /** A published message reached no queue. */
  readonly onReturn: () => void;
  readonly onError: (error: Error) => void;
  /** The queue was deleted. */
  readonly onCancel: () => void;
  /** Celery’s reply exchange was missing and has been declared; it outlives the connection. */
  readonly onDeclared: (exchange: string) => void;
}

export interface Desk {
  readonly channel: Channel;
  readonly names: ControlNames;
}

/** @throws Refusal if the user lacks the permissions */
export async function openDesk(
  model: ChannelModel,
  namespace: string,
  observer: DeskObserver,
): Promise<Desk> {
  const names = controlNames(namespace, randomUUID());
  if (await ensureReplyExchange(model, names.replies)) observer.onDeclared(names.replies);
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

/**
 * Deletes a reply exchange once no queue is bound to it. If others have begun to use it, they keep it.
 * @throws if the exchange is still in use when the signal aborts, or may not be deleted
 */
export async function removeReplyExchange(
  model: ChannelModel,
  exchange: string,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    try {
      await onOwnChannel(model, (channel) => channel.deleteExchange(exchange, { ifUnused: true }));
      return;
    } catch (error) {
      // Our own queue is deleted a moment after our connection closes.
      if (signal.aborted || replyCode(error) !== REPLY.PRECONDITION_FAILED) throw error;
      await pause(IN_USE_MS, signal);
    }
  }
}

/** Declares the reply exchange as workers do, unless it exists; it does not survive a restart of the broker. @returns whether it was declared */
async function ensureReplyExchange(model: ChannelModel, exchange: string): Promise<boolean> {
  if (await exists(model, exchange)) return false;
  const flags = { durable: false, autoDelete: false, internal: false };
  try {
    await onOwnChannel(model, (channel) => channel.assertExchange(exchange, 'direct', flags));
    return true;
  } catch (error) {
    // Someone declared it after our check, with other flags.
    if (replyCode(error) === REPLY.PRECONDITION_FAILED) return false;
    if (replyCode(error) !== REPLY.ACCESS_REFUSED) throw error;
    const hint =
      'a Celery worker declares it with its first reply; or grant the user the configure permission';
    throw new Refusal(`there is no exchange "${exchange}" yet, and the user may not declare it; ${hint}`, {
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
    // amqplib only reports a cancellation here: replies bypass it.
    await channel.consume(replyQueue, onCancel, { noAck: true, consumerTag: CONSUMER_TAG });
  } catch (error) {
    if (replyCode(error) !== REPLY.ACCESS_REFUSED) throw error;
    const rights = `configure, write and read on "*.${replies}", read on "${replies}"`;
    throw new Refusal(`${reasonOf(error)}; the user needs these permissions: ${rights}`, { cause: error });
  }
}
