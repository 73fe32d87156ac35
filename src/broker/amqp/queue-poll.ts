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
/** In one poll; who names queues that do not exist could fill the log of RabbitMQ. */
const MISSING_PER_POLL_MAX = 20;
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
  /** Found in the last poll. */
  #present: ReadonlySet<string> = new Set();

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
    const found = await this.#lengths(isDelaying ? [...DELAYED, ...names] : names, signal);
    this.#present = new Set(found.keys());
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
    const due = names.filter(
      (name) => Buffer.byteLength(name) <= NAME_BYTES_MAX && nowMs >= (this.#missing.get(name)?.untilMs ?? 0),
    );
    const { present = [], others = [] } = Object.groupBy(due, (name) =>
      this.#present.has(name) ? 'present' : 'others',
    );
    const left = [...present, ...others].values();
    const found = new Map<string, Found>();
    let misses = 0;
    const lane = async (): Promise<void> => {
      let channel: Channel | undefined;
      try {
        for (const name of left) {
          signal.throwIfAborted();
          if (misses >= MISSING_PER_POLL_MAX) break;
          channel ??= await this.#openChannel();
          const depth = await this.#depth(channel, name, nowMs);
          if (depth !== undefined) found.set(name, depth);
          else {
            misses += 1;
            channel = undefined;
          }
        }
      } finally {
        // It rejects if the connection has closed it.
        await channel?.close().catch(() => undefined);
      }
    };
    await Promise.all(Array.from({ length: Math.min(LANES, due.length) }, lane));
    return found;
  }

  /** Undefined if there is none, or it is exclusive to another connection: the error has closed the channel. */
  async #depth(channel: Channel, name: string, nowMs: number): Promise<Found | undefined> {
    try {
      const { messageCount: length, consumerCount: consumers } = await channel.checkQueue(name);
      this.#missing.delete(name);
      return { length, consumers };
    } catch (error) {
      // Without a code, it is not about this queue.
      if (replyCode(error) === undefined) throw error;
      this.#noteMissing(name, nowMs);
      return undefined;
    }
  }

  async #openChannel(): Promise<Channel> {
    const channel = await this.#model.createChannel();
    // An error also rejects the question, where it is handled.
    channel.on('error', () => undefined);
    return channel;
  }

  #noteMissing(name: string, nowMs: number): void {
    const before = this.#missing.get(name)?.forMs ?? MISSING_FOR_MS_MIN / 2;
    const forMs = Math.min(2 * before, MISSING_FOR_MS_MAX);
    if (this.#missing.size >= MISSING_MAX) this.#missing.clear();
    this.#missing.set(name, { untilMs: nowMs + forMs, forMs });
  }
}
