/**
 * Counts the instances of celery-otel that export one service from RabbitMQ, which does not list connections to clients: each
 * instance holds a “mark”, an exclusive queue with a known name. Nothing is published to it.
 */
import { createHash } from 'node:crypto';
import type { ChannelModel } from 'amqplib';
import { REPLY, replyCode } from './failure.ts';
import { onOwnChannel } from './topology.ts';

/** The most instances that can be counted: more than one is already too many. */
const INSTANCES_MAX = 2;
const HASH_CHARS = 32;

/** The mark of one instance, over one connection. */
export class InstanceMark {
  readonly #model: ChannelModel;
  readonly #marks: readonly string[];
  #own: string | undefined;
  #last: Promise<number | undefined> = Promise.resolve(undefined);

  constructor(model: ChannelModel, prefix: string, service: string) {
    this.#model = model;
    this.#marks = marks(prefix, service);
  }

  /**
   * Takes the first free mark, unless this instance already has one.
   * @returns how many other instances there are, at most 2; undefined if unknown. Never rejects, since it is only informative.
   */
  take(): Promise<number | undefined> {
    // Sequentially, so that its own mark is not taken for a free one.
    this.#last = this.#last.then(() => this.#take());
    return this.#last;
  }

  async #take(): Promise<number | undefined> {
    let count = 0;
    for (const mark of this.#marks) {
      if (mark === this.#own) continue;
      const found = await this.#try(mark);
      if (found === 'unknown') return undefined;
      if (found === 'locked') count += 1;
      else if (this.#own === undefined) this.#own = mark;
      // Declaring it is the only way to see that it is free without an error in the broker’s log.
      else await onOwnChannel(this.#model, (channel) => channel.deleteQueue(mark)).catch(() => undefined);
    }
    return count;
  }

  async #try(mark: string): Promise<'free' | 'locked' | 'unknown'> {
    const flags = { exclusive: true, autoDelete: true, durable: false };
    try {
      await onOwnChannel(this.#model, (channel) => channel.assertQueue(mark, flags));
      return 'free';
    } catch (error) {
      return replyCode(error) === REPLY.RESOURCE_LOCKED ? 'locked' : 'unknown';
    }
  }
}

/**
 * Takes no mark.
 * @returns how many instances there are, at most 2; undefined if unknown
 */
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
