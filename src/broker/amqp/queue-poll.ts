/**
 * Polls RabbitMQ for queue lengths by passive declarations, which need no permissions. It uses a separate connection,
 * because during an alarm connections that publish get no replies, and because an error must not interrupt the events. It
 * creates and consumes nothing, and skips queues of events and remote control.
 */
import type { Channel, ChannelModel } from 'amqplib';
import { pause } from '../../timing/pause.ts';
import type { BrokerReading, PollQuestion, QueueDepth } from '../broker-reading.ts';
import { queuesToPoll } from '../queue-names.ts';
import { replyCode } from './failure.ts';
import { type Connect, LazyConnection } from './lazy-connection.ts';
import type { Listing } from './management.ts';

/** How many lanes a poll has: a lane is a channel with one request at a time. Several make a poll faster on a slow network. */
const LANES_MAX = 16;
const QUEUES_PER_LANE = 25;
/** How long to wait for the reply of one queue, whose process may be dead, or busy with a very long backlog. */
const ANSWER_MS_MAX = 1500;
const NAME_BYTES_MAX = 255;
/** How long a missing queue is skipped: RabbitMQ logs an error for each, so they are polled less and less often. */
const MISSING_FOR_MS_MIN = 5000;
const MISSING_FOR_MS_MAX = 3_600_000;
/** After about this many missing queues, a poll ends: events that name non-existent queues could otherwise fill RabbitMQ’s log. */
const MISSING_PER_POLL_MAX = 20;
/** A queue that does not reply counts as this many missing ones, because it takes longer. */
const SILENT_IS_MISSING = 4;
/** How many queues are remembered as missing or silent. */
const MISSING_MAX = 10_000;
/** The queues of native delayed delivery (kombu: transport/native_delayed_delivery.py). */
const DELAY_LEVELS = 28;
const DELAYED = Array.from({ length: DELAY_LEVELS }, (_, level) => `celery_delayed_${level}`);
const [LOWEST_DELAYED = ''] = DELAYED;

/** A queue that is skipped until `untilMs` (monotonic); `forMs` is how long that was. */
interface Left {
  readonly untilMs: number;
  readonly forMs: number;
  /** Whether the queue exists, but did not reply. */
  readonly isSilent: boolean;
}

/** Lists the queues of the broker. Never rejects. */
type List = (signal: AbortSignal) => Promise<Listing>;

type Found = Pick<QueueDepth, 'length'> & { readonly consumers: number };

/** The polls of one session. */
export class QueuePoll {
  readonly #connection: LazyConnection;
  readonly #eventQueuePrefix: string;
  readonly #list: List | undefined;
  readonly #left = new Map<string, Left>();
  /** Queues found in the last poll. */
  #present: ReadonlySet<string> = new Set();

  /** @param list undefined: only the queues of the question are polled */
  constructor(connect: Connect, eventQueuePrefix: string, list?: List) {
    this.#connection = new LazyConnection(connect);
    this.#eventQueuePrefix = eventQueuePrefix;
    this.#list = list;
  }

  /** @throws if the broker cannot be polled, or the signal aborts */
  read({ queues }: PollQuestion, signal: AbortSignal): Promise<BrokerReading> {
    return this.#connection.use((model) => this.#ask(model, queues, signal), signal);
  }

  /** Closes the connection; the next poll opens another one. Never rejects. */
  end(): Promise<void> {
    return this.#connection.end();
  }

  async #ask(model: ChannelModel, queues: readonly string[], signal: AbortSignal): Promise<BrokerReading> {
    const events = `${this.#eventQueuePrefix}.`;
    const listing = await this.#list?.(signal);
    // The queues that events name come first.
    const { queues: names, incomplete } = queuesToPoll(
      [...queues, ...(listing?.names ?? [])].filter(
        (name) => !(name.startsWith(events) || DELAYED.includes(name)),
      ),
    );
    const isDelaying = (await this.#lengths(model, [LOWEST_DELAYED], signal)).size > 0;
    const asked = isDelaying ? [...DELAYED, ...names] : names;
    const found = await this.#lengths(model, asked, signal);
    this.#present = new Set(found.keys());
    const unknown = asked.filter(
      (name) => !(found.has(name) || this.#left.has(name) || isTooLong(name)),
    ).length;
    const silent = asked.filter((name) => this.#left.get(name)?.isSilent).length;
    const delayed = DELAYED.reduce((sum, name) => sum + (found.get(name)?.length ?? 0), 0);
    for (const name of DELAYED) found.delete(name);
    return {
      queues: Array.from(found, ([queue, depth]) => ({ queue, ...depth })),
      ...(listing === undefined
        ? {}
        : { areAll: listing.areAll && incomplete.length + unknown + silent === 0 }),
      ...(isDelaying ? { delayed } : {}),
      incomplete: [
        ...(listing?.incomplete ?? []),
        ...incomplete,
        ...(unknown > 0 ? [`${unknown} queues will be polled later: too many others do not exist`] : []),
        ...(silent > 0 ? [`${silent} queues did not reply`] : []),
      ],
    };
  }

  /** The lengths and consumers of those queues that exist. */
  async #lengths(
    model: ChannelModel,
    names: readonly string[],
    signal: AbortSignal,
  ): Promise<Map<string, Found>> {
    const nowMs = performance.now();
    const due = names.filter((name) => !isTooLong(name) && nowMs >= (this.#left.get(name)?.untilMs ?? 0));
    const {
      present = [],
      unknown = [],
      absent = [],
    } = Object.groupBy(due, (name) => {
      if (this.#present.has(name)) return 'present';
      return this.#left.has(name) ? 'absent' : 'unknown';
    });
    const left = [...present, ...unknown, ...absent].values();
    const found = new Map<string, Found>();
    let misses = 0;
    const lane = async (): Promise<void> => {
      let channel: Channel | undefined;
      for (const name of left) {
        if (misses >= MISSING_PER_POLL_MAX) break;
        channel ??= await openChannel(model);
        const depth = await depthOf(channel, name, signal);
        if (typeof depth === 'object') {
          found.set(name, depth);
          this.#left.delete(name);
          continue;
        }
        // The broker closes the channel after its reply.
        if (depth === 'silent') channel.close().catch(() => undefined);
        channel = undefined;
        misses += depth === 'silent' ? SILENT_IS_MISSING : 1;
        this.#leave(name, nowMs, depth === 'silent');
      }
      // `close` rejects if the channel was closed with its connection.
      await channel?.close().catch(() => undefined);
    };
    const lanes = Math.min(LANES_MAX, Math.ceil(due.length / QUEUES_PER_LANE));
    await Promise.all(Array.from({ length: lanes }, lane));
    return found;
  }

  #leave(name: string, nowMs: number, isSilent: boolean): void {
    const before = this.#left.get(name)?.forMs ?? MISSING_FOR_MS_MIN / 2;
    const forMs = Math.min(2 * before, MISSING_FOR_MS_MAX);
    if (this.#left.size >= MISSING_MAX) this.#left.clear();
    this.#left.set(name, { untilMs: nowMs + forMs, forMs, isSilent });
  }
}

function isTooLong(name: string): boolean {
  return Buffer.byteLength(name) > NAME_BYTES_MAX;
}

async function openChannel(model: ChannelModel): Promise<Channel> {
  const channel = await model.createChannel();
  // An error also rejects the request, where it is handled.
  channel.on('error', () => undefined);
  return channel;
}

/** The length of one queue. `missing`: the queue does not exist or is exclusive to another connection, and the error closed the channel. */
async function depthOf(
  channel: Channel,
  name: string,
  signal: AbortSignal,
): Promise<Found | 'missing' | 'silent'> {
  const answered = new AbortController();
  const silence = pause(ANSWER_MS_MAX, AbortSignal.any([signal, answered.signal])).then(
    () => 'silent' as const,
  );
  try {
    const reply = await Promise.race([channel.checkQueue(name), silence]);
    signal.throwIfAborted();
    return reply === 'silent' ? reply : { length: reply.messageCount, consumers: reply.consumerCount };
  } catch (error) {
    // Without a reply code, the error does not concern this queue.
    if (replyCode(error) === undefined) throw error;
    return 'missing';
  } finally {
    answered.abort();
  }
}
