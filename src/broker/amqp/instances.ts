/**
 * How instances of celery-otel for one service find each other on RabbitMQ, which tells nobody who is connected: each holds an
 * exclusive queue of a known name, which nothing is published to. It receives nothing.
 */
import { createHash } from 'node:crypto';
import type { ChannelModel } from 'amqplib';
import { REPLY, replyCode } from './failure.ts';
import { onOwnChannel } from './topology.ts';

/** So many can be told apart: more than one is too many. */
const INSTANCES_MAX = 2;
const HASH_CHARS = 32;

/** Takes the first name that is free. Never rejects: without it, only checks know less. */
export async function markInstance(model: ChannelModel, prefix: string, service: string): Promise<void> {
  const flags = { exclusive: true, autoDelete: true, durable: false };
  for (const queue of marks(prefix, service)) {
    try {
      await onOwnChannel(model, (channel) => channel.assertQueue(queue, flags));
      return;
    } catch (error) {
      if (replyCode(error) !== REPLY.RESOURCE_LOCKED) return;
    }
  }
}

/** @returns how many there are, at most 2; undefined if that is not known */
export async function countInstances(
  model: ChannelModel,
  prefix: string,
  service: string,
): Promise<number | undefined> {
  let count = 0;
  for (const queue of marks(prefix, service)) {
    try {
      await onOwnChannel(model, (channel) => channel.checkQueue(queue));
    } catch (error) {
      const code = replyCode(error);
      if (code !== REPLY.RESOURCE_LOCKED && code !== REPLY.NOT_FOUND) return undefined;
      if (code === REPLY.RESOURCE_LOCKED) count += 1;
    }
  }
  return count;
}

/** The name of a service may have any length and any characters. */
function marks(prefix: string, service: string): readonly string[] {
  const hash = createHash('sha256').update(service).digest('hex').slice(0, HASH_CHARS);
  return Array.from({ length: INSTANCES_MAX }, (_, index) => `${prefix}.celery-otel.${hash}.${index + 1}`);
}
