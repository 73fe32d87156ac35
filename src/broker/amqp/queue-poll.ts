/**
 * Asks RabbitMQ for the lengths of queues by passive declarations, which need no permissions, on channels that are thrown
 * away. It creates nothing, consumes nothing, and asks for no queue of events or remote control.
 */
import type { Channel, ChannelModel } from 'amqplib';
import type { BrokerReading, PollQuestion, QueueDepth } from '../broker-reading.ts';
import { queuesToPoll } from '../queue-names.ts';
import { replyCode } from './failure.ts';

/** Each has a channel, on which one question waits for its answer: more are faster on a slow network. */
const LANES = 4;
const NAME_BYTES_MAX = 255;
/** RabbitMQ logs an error for each queue that is missing, so they are asked for ever less often. */
const MISSING_FOR_MS_MIN = 5000;
const MISSING_FOR_MS_MAX = 3_600_000;
/** Missing queues that are remembered. */
const MISSING_MAX = 10_000;
/** The queues of native delayed delivery (kombu: transport/native_delayed_delivery.py). */
const DELAY_LEVELS = 28;
const DELAYED = Array.from({ length: DELAY_LEVELS }, (_, level) => `celery_delayed_${level}`);
const [LOWEST_DELAYED = ''] = DELAYED;

interface Missing {
  untilMs: number;
  forMs: number;
}

type Found = Pick<QueueDepth, 'length'> & { readonly consumers: number };

/** The polls of one session. */
export class QueuePoll {
  readonly #model: ChannelModel;
  readonly #eventQueuePrefix: string;
  readonly #missing = new Map<string, Missing>();

  constructor(model: ChannelModel, eventQueuePrefix: string) {
    this.#model = model;
    this.#eventQueuePrefix = eventQueuePrefix;
  }

  /** @throws if the connection breaks, or the signal aborts */
  async read({ queues }: PollQuestion, signal: AbortSignal): Promise<BrokerReading> {
    const events = `${this.#eventQueuePrefix}.`;
    const { queues: names, incomplete } = queuesToPoll(
      queues.filter((name) => !(name.startsWith(events) || DELAYED.includes(name))),
    );
    const isDelaying = (await this.#lengths([LOWEST_DELAYED], signal)).size > 0;
    const found = await this.#lengths(isDelaying ? [...names, ...DELAYED] : names, signal);
    const delayed = DELAYED.reduce((sum, name) => sum + (found.get(name)?.length ?? 0), 0);
    for (const name of DELAYED) found.delete(name);
    return {
      queues: Array.from(found, ([queue, depth]) => ({ queue, ...depth })),
      ...(isDelaying ? { delayed } : {}),
      incomplete,
    };
  }

  async #lengths(names: readonly string[], signal: AbortSignal): Promise<Map<string, Found>> {
    const nowMs = performance.now();
    const left = names.filter(
      (name) => Buffer.byteLength(name) <= NAME_BYTES_MAX && nowMs >= (this.#missing.get(name)?.untilMs ?? 0),
    );
    const found = new Map<string, Found>();
    const lane = async (): Promise<void> => {
      let channel: Channel | undefined;
      for (let name = left.pop(); name !== undefined; name = left.pop()) {
        signal.throwIfAborted();
        channel ??= await this.#openChannel();
        try {
          const { messageCount: length, consumerCount: consumers } = await channel.checkQueue(name);
          found.set(name, { length, consumers });
          this.#missing.delete(name);
        } catch (error) {
          // The error has closed the channel. Without a code it is not about this queue.
          if (replyCode(error) === undefined) throw error;
          channel = undefined;
          this.#noteMissing(name, nowMs);
        }
      }
      await channel?.close();
    };
    await Promise.all(Array.from({ length: Math.min(LANES, left.length) }, lane));
    return found;
  }

  async #openChannel(): Promise<Channel> {
    const channel = await this.#model.createChannel();
    // An error also rejects the question, where it is handled.
    channel.on('error', () => undefined);
    return channel;
  }

  /** Missing, or exclusive to another connection. */
  #noteMissing(name: string, nowMs: number): void {
    const before = this.#missing.get(name)?.forMs ?? MISSING_FOR_MS_MIN / 2;
    const forMs = Math.min(2 * before, MISSING_FOR_MS_MAX);
    if (this.#missing.size >= MISSING_MAX) this.#missing.clear();
    this.#missing.set(name, { untilMs: nowMs + forMs, forMs });
  }
}
