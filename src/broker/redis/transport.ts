/**
 * The transport for Redis: one connection subscribes to Celery’s event channels, others poll queues and send remote
 * control commands. It runs one session and reports why it ended; it never decides whether another follows.
 */
import type { Redis } from 'ioredis';
import { reasonOf } from '../../text/errors.ts';
import type {
  Deliver,
  Elsewhere,
  NotOpened,
  Opening,
  Session,
  SessionEnd,
  SessionOptions,
  Transport,
} from '../broker.ts';
import type { BrokerReading, PollQuestion } from '../broker-reading.ts';
import type { ControlAnswer, ControlQuestion } from '../control/control.ts';
import { Malformed } from '../server/malformed.ts';
import { Refusal } from '../server/refusal.ts';
import { unreachable } from '../server/tls-failure.ts';
import type { ListeningClock } from '../session/listening-clock.ts';
import { SessionCourse } from '../session/session-course.ts';
import { eventPatterns } from './channels.ts';
import { connect, isReachable, newClient, refusalOf } from './connection.ts';
import { RedisControl } from './control.ts';
import { lookElsewhere } from './elsewhere.ts';
import { countInstances, OBSERVER, subscriberName } from './instances.ts';
import { REDIS } from './kind.ts';
import { QueuePoll } from './queue-poll.ts';
import type { RedisSettings } from './settings.ts';
import { Subscription } from './subscription.ts';
import type { RedisUrl } from './url.ts';

export interface RedisTransportSettings extends RedisSettings {
  readonly eventExchange: string;
}

export function createRedisTransport(settings: RedisTransportSettings, listening: ListeningClock): Transport {
  return {
    open: async (options) =>
      REDIS.owns(options.url)
        ? new RedisSession(settings, options, options.url, listening).open()
        : { kind: 'unusable', reason: 'not an address of Redis' },
    now: () => listening.wallMs(performance.now(), Date.now()),
    listenedMs: () => listening.listenedMs,
    reachable: async (url, signal) => REDIS.owns(url) && isReachable(url, settings, signal),
  };
}

/** One session, from connecting to closing. */
class RedisSession implements Session {
  readonly exchange: string;
  readonly #settings: RedisTransportSettings;
  readonly #options: SessionOptions;
  readonly #url: RedisUrl;
  readonly #listening: ListeningClock;
  readonly #course: SessionCourse;
  readonly #poll: QueuePoll;
  readonly #control: RedisControl;
  #client: Redis | undefined;
  #subscription: Subscription | undefined;
  /** The first error of the connection; later ones follow from it. */
  #error: unknown;

  constructor(
    settings: RedisTransportSettings,
    options: SessionOptions,
    url: RedisUrl,
    listening: ListeningClock,
  ) {
    this.exchange = settings.eventExchange;
    this.#settings = settings;
    this.#options = options;
    this.#url = url;
    this.#listening = listening;
    this.#poll = new QueuePoll(url, settings, options.connectTimeoutMs);
    this.#control = new RedisControl(url, settings, options.connectTimeoutMs, options.bodyBytesMax);
    this.#course = new SessionCourse(options, listening, {
      connect: () => this.#connect(),
      failureOf: (error) => openingFailure(isOfClosed(error) ? (this.#error ?? error) : error),
      close: async () => {
        this.#subscription?.end();
        this.#client?.disconnect();
        this.#poll.end();
        // A broken connection must not wait for a server that may not respond.
        const cleanedUp = this.#control.end();
        if (options.signal.aborted) await cleanedUp;
      },
    });
  }

  open(): Promise<Opening> {
    return this.#course.start();
  }

  receive(deliver: Deliver): Promise<SessionEnd> {
    this.#subscription?.deliverTo(deliver);
    return this.#course.ended;
  }

  poll(question: PollQuestion, signal: AbortSignal): Promise<BrokerReading> {
    return this.#poll.read(question, signal);
  }

  ask(question: ControlQuestion, signal: AbortSignal): Promise<ControlAnswer> {
    return this.#control.ask(question, signal);
  }

  listeners(signal: AbortSignal): Promise<number | undefined> {
    return this.#control.countListeners(signal).catch(() => undefined);
  }

  async instances(signal: AbortSignal): Promise<number | undefined> {
    const { connectTimeoutMs, isObserver } = this.#options;
    // No permission to list clients.
    const count = await countInstances(
      ...([this.#url, this.#settings, this.#patterns, connectTimeoutMs, signal] as const),
    ).catch(() => undefined);
    return count === undefined || isObserver === true ? count : Math.max(0, count - 1);
  }

  elsewhere(signal: AbortSignal): Promise<Elsewhere> {
    return lookElsewhere(this.#url, this.#settings, this.#options.connectTimeoutMs, signal);
  }

  get #patterns(): readonly string[] {
    return eventPatterns(this.exchange, this.#url, this.#settings);
  }

  async #connect(): Promise<void> {
    const { connectTimeoutMs, isObserver, signal } = this.#options;
    const client = await newClient(this.#url, this.#settings, connectTimeoutMs, signal);
    this.#client = client;
    if (this.#course.isOver) return client.disconnect();
    const note = (error: unknown): void => {
      if (error instanceof Malformed) this.#course.broken(error);
      this.#error ??= error;
    };
    client.on('error', note);
    client.on('close', () => this.#course.broken(this.#error ?? new Error(this.#closedReason())));
    await connect(client, this.#url);
    // These commands are best effort. A server at its client limit returns an error to the first one, and closes the connection.
    const patterns = this.#patterns;
    const name = subscriberName(this.#settings, patterns);
    await client.client('SETNAME', isObserver === true ? name + OBSERVER : name).catch(note);
    // Channels are the same in all databases: selecting one only shows in the list of clients which database is meant.
    if (this.#url.db !== 0) await client.select(this.#url.db).catch(note);
    await refuseCluster(client, this.#settings.globalKeyprefix);
    const subscription = new Subscription(client, this.#listening, this.#options, patterns.length > 1);
    this.#subscription = subscription;
    await subscribe(client, patterns);
    if (this.#course.isOver) return;
    this.#error = undefined;
    const { healthCheckIntervalMs, socketTimeoutMs } = this.#settings;
    this.#course.opened(this, () => subscription.ask(), healthCheckIntervalMs + socketTimeoutMs);
  }

  #closedReason(): string {
    return this.#subscription?.isBehind === true
      ? 'the server closed the connection, probably because events arrived faster than they were read (client-output-buffer-limit pubsub)'
      : 'the server closed the connection';
  }
}

async function subscribe(client: Redis, patterns: readonly string[]): Promise<void> {
  try {
    await client.psubscribe(...patterns);
  } catch (error) {
    const cause = refusalOf(error);
    if (!(cause instanceof Refusal)) throw error;
    const rights = `+psubscribe +ping and ${patterns.map((pattern) => `&${pattern}`).join(' ')}`;
    throw new Refusal(`${cause.message}; the user needs ${rights}`, { cause: error });
  }
}

/** A hash tag: keys with the same text in braces are in one slot (Redis cluster specification, “Hash tags”). */
const HASH_TAG = /\{[^}]+\}/u;
const NO_HASH_TAG =
  'Celery can use a Redis in cluster mode only if a hash tag in global_keyprefix, such as {celery}:, puts all keys into one slot; set the same as the workers, or use a server that is not in cluster mode, or its sentinels';

/** Refuses a server in cluster mode, unless all keys are in one slot, as Celery needs. Without permission to check, a single server is assumed. */
async function refuseCluster(client: Redis, globalKeyprefix: string): Promise<void> {
  if (HASH_TAG.test(globalKeyprefix)) return;
  const info = await client.info('cluster').catch(() => '');
  if (/^cluster_enabled:1\r?$/mu.test(info)) throw new Refusal(NO_HASH_TAG);
}

/** Whether this is ioredis’s error for a command after the connection has ended, which hides why it ended. */
function isOfClosed(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("Stream isn't writeable");
}

function openingFailure(error: unknown): NotOpened {
  if (error instanceof Malformed) return { kind: 'malformed', reason: error.message };
  const cause = refusalOf(error);
  return cause instanceof Refusal ? { kind: 'refused', reason: reasonOf(cause) } : unreachable(cause);
}
