/**
 * The transport for Redis: one connection that subscribes to Celery’s event channels. It runs one session and reports why it
 * ended; it never decides whether another follows. It publishes nothing.
 */
import type { Redis } from 'ioredis';
import { reasonOf } from '../../errors.ts';
import type {
  Deliver,
  NotOpened,
  Opening,
  RedisSettings,
  Session,
  SessionEnd,
  SessionOptions,
  Transport,
} from '../broker.ts';
import { type BrokerUrl, NO_CLUSTER, type RedisUrl } from '../broker-url.ts';
import { type ListeningClock, PROOF_INTERVAL_MS } from '../listening-clock.ts';
import { Refusal } from '../server/refusal.ts';
import { eventPatterns } from './channels.ts';
import { connect, isReachable, newClient, refusalOf } from './connection.ts';
import { Subscription } from './subscription.ts';

export interface RedisTransportSettings extends RedisSettings {
  readonly eventExchange: string;
}

export function createRedisTransport(settings: RedisTransportSettings, listening: ListeningClock): Transport {
  return {
    open: async (options) =>
      isRedis(options.url)
        ? new RedisSession(settings, options, options.url, listening).open()
        : { kind: 'unusable', reason: 'not an address of Redis' },
    now: () => listening.wallMs(performance.now(), Date.now()),
    listenedMs: () => listening.listenedMs,
    reachable: async (url, signal) => isRedis(url) && isReachable(url, settings, signal),
  };
}

const STOPPED = { kind: 'stopped' } as const;

function isRedis(url: BrokerUrl): url is RedisUrl {
  return ['redis', 'rediss', 'redis+socket', 'sentinel'].includes(url.scheme);
}

/** One session, from connecting to closing. Of several causes that may end it, the first one counts. */
class RedisSession implements Session {
  readonly exchange: string;
  readonly #settings: RedisTransportSettings;
  readonly #options: SessionOptions;
  readonly #url: RedisUrl;
  readonly #listening: ListeningClock;
  readonly #opening = Promise.withResolvers<Opening>();
  readonly #ending = Promise.withResolvers<SessionEnd>();
  #client: Redis | undefined;
  #subscription: Subscription | undefined;
  #phase: 'opening' | 'open' | 'over' = 'opening';
  #deadline: NodeJS.Timeout | undefined;
  #proofTimer: NodeJS.Timeout | undefined;
  /** The first error of the connection: the others follow from it. */
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
  }

  open(): Promise<Opening> {
    const { signal, connectTimeoutMs } = this.#options;
    signal.addEventListener('abort', this.#stop);
    if (signal.aborted) {
      this.#stop();
    } else {
      const reason = `no answer within ${connectTimeoutMs} ms`;
      const giveUp = (): void => this.#opening.resolve({ kind: 'unreachable', reason });
      this.#deadline = setTimeout(() => this.#end(giveUp), connectTimeoutMs);
      void this.#connect();
    }
    return this.#opening.promise;
  }

  receive(deliver: Deliver): Promise<SessionEnd> {
    this.#subscription?.deliverTo(deliver);
    return this.#ending.promise;
  }

  /** Connects, then subscribes; never rejects. */
  async #connect(): Promise<void> {
    try {
      const { connectTimeoutMs, signal } = this.#options;
      const client = await newClient(this.#url, this.#settings, connectTimeoutMs, signal);
      this.#client = client;
      if (this.#phase === 'over') return client.disconnect();
      const note = (error: unknown): void => {
        this.#error ??= error;
      };
      client.on('error', note);
      client.on('close', () => this.#broken(this.#error ?? new Error(this.#closedReason())));
      await connect(client, this.#url);
      // Both are only useful. A server that is full replies so to the first command, and closes the connection.
      await client.client('SETNAME', this.#settings.clientName).catch(note);
      await refuseCluster(client);
      const patterns = eventPatterns(this.exchange, this.#url, this.#settings);
      const subscription = new Subscription(client, this.#listening, this.#options, patterns.length > 1);
      this.#subscription = subscription;
      await subscribe(client, patterns);
      this.#becomeOpen(subscription);
    } catch (error) {
      this.#broken(error);
    }
  }

  #becomeOpen(subscription: Subscription): void {
    if (this.#phase !== 'opening') return;
    this.#phase = 'open';
    this.#error = undefined;
    clearTimeout(this.#deadline);
    const { healthCheckIntervalMs, socketTimeoutMs } = this.#settings;
    const deadAfterMs = healthCheckIntervalMs + socketTimeoutMs;
    // Counted and not measured: if this process was suspended, the answer may be there and not read yet.
    let silentMs = 0;
    this.#proofTimer = setInterval(() => {
      silentMs = subscription.ask() ? 0 : silentMs + PROOF_INTERVAL_MS;
      if (silentMs >= deadAfterMs) this.#broken(new Error(`no answer within ${deadAfterMs} ms`));
    }, PROOF_INTERVAL_MS).unref();
    this.#listening.begin(performance.now(), Date.now());
    this.#opening.resolve({ kind: 'opened', session: this });
  }

  #closedReason(): string {
    return this.#subscription?.isBehind === true
      ? 'the server closed the connection, probably because events arrived faster than they were read (client-output-buffer-limit pubsub)'
      : 'the server closed the connection; if that follows a very large message, raise its client-output-buffer-limit pubsub';
  }

  readonly #stop = (): void => {
    this.#end(() => {
      this.#opening.resolve(STOPPED);
      this.#ending.resolve(STOPPED);
    });
  };

  #broken(error: unknown): void {
    const isOpen = this.#phase === 'open';
    this.#end(() => {
      if (isOpen) this.#ending.resolve({ kind: 'lost', reason: reasonOf(error) });
      else this.#opening.resolve(openingFailure(error));
    });
  }

  /** Ends the session once. */
  #end(settle: () => void): void {
    if (this.#phase === 'over') return;
    this.#phase = 'over';
    clearTimeout(this.#deadline);
    clearInterval(this.#proofTimer);
    this.#options.signal.removeEventListener('abort', this.#stop);
    this.#listening.end();
    this.#subscription?.end();
    this.#client?.disconnect();
    settle();
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

/** Without the permission to ask, it is taken for a single server. */
async function refuseCluster(client: Redis): Promise<void> {
  const info = await client.info('cluster').catch(() => '');
  if (/^cluster_enabled:1\r?$/mu.test(info)) throw new Refusal(NO_CLUSTER);
}

function openingFailure(error: unknown): NotOpened {
  const cause = refusalOf(error);
  return { kind: cause instanceof Refusal ? 'refused' : 'unreachable', reason: reasonOf(cause) };
}
