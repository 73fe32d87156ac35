/**
 * Polls Redis for the lengths of queues and for unacknowledged messages, over a connection of its own: a subscriber cannot
 * ask. Finds queues by the bindings that kombu keeps. It sends only what `queue-commands.ts` and
 * `unacked-scan.ts` do.
 */
import type { Redis } from 'ioredis';
import { reasonOf } from '../../errors.ts';
import type { RedisSettings } from '../broker.ts';
import type { BrokerReading, PollQuestion } from '../broker-reading.ts';
import type { RedisUrl } from '../broker-url.ts';
import { queuesToPoll } from '../queue-names.ts';
import { connect, newClient } from './connection.ts';
import {
  bindingCommands,
  bindingsOf,
  type Command,
  depthsOf,
  lengthCommands,
  type PollKeys,
  type Reply,
  refusalIn,
  searchResult,
  unackedCommands,
  unackedOf,
} from './queue-commands.ts';
import { type Bindings, countUnacked } from './unacked-scan.ts';

/** Exchanges whose bindings are read in a poll. */
const EXCHANGES_MAX = 200;
/** Queues that may have an exchange of the same name: Celery’s default one has. */
const LIKELY_MAX = 20;

const REMEDY = 'docs/brokers.md has the permissions that the user needs';

/** The polls of one session. */
export class QueuePoll {
  readonly #url: RedisUrl;
  readonly #settings: RedisSettings;
  readonly #connectTimeoutMs: number;
  #client: Redis | undefined;
  /** Those that the last poll read. */
  #bindings: Bindings = new Map();
  /** Of the last complete search, and of the one under way. */
  #exchanges: ReadonlySet<string> = new Set();
  #found = new Set<string>();
  /** Undefined: the user may not search. */
  #cursor: string | undefined = '0';

  constructor(url: RedisUrl, settings: RedisSettings, connectTimeoutMs: number) {
    this.#url = url;
    this.#settings = settings;
    this.#connectTimeoutMs = connectTimeoutMs;
  }

  /** @throws if the server cannot be asked, or the signal aborts */
  async read(question: PollQuestion, signal: AbortSignal): Promise<BrokerReading> {
    const giveUp = (): void => this.end();
    signal.addEventListener('abort', giveUp);
    try {
      signal.throwIfAborted();
      return await this.#ask(await this.#connected(signal), question);
    } catch (error) {
      this.end();
      throw error;
    } finally {
      signal.removeEventListener('abort', giveUp);
    }
  }

  end(): void {
    this.#client?.disconnect();
    this.#client = undefined;
  }

  async #connected(signal: AbortSignal): Promise<Redis> {
    if (this.#client?.status === 'ready') return this.#client;
    this.end();
    const client = await newClient(this.#url, this.#settings, this.#connectTimeoutMs, signal);
    this.#client = client;
    signal.throwIfAborted();
    await connect(client, this.#url);
    if (this.#url.db !== 0) await client.select(this.#url.db);
    // It is only useful.
    await client.client('SETNAME', this.#settings.clientName).catch(() => undefined);
    return client;
  }

  async #ask(client: Redis, question: PollQuestion): Promise<BrokerReading> {
    const keys: PollKeys = { ...question.redis, prefix: this.#settings.globalKeyprefix };
    const { queues, incomplete } = queuesToPoll([...question.queues, ...this.#bound()]);
    const exchanges = [...new Set([...queues.slice(0, LIKELY_MAX), ...this.#exchanges, ...this.#found])];
    const read = exchanges.slice(0, EXCHANGES_MAX);
    const ofLengths = lengthCommands(queues, keys);
    const ofUnacked = unackedCommands(keys);
    const replies = await send(client, [
      ...ofLengths,
      ...ofUnacked,
      ...bindingCommands(read, this.#cursor, keys),
    ]);
    const lengths = replies.slice(0, ofLengths.length);
    const unacked = replies.slice(ofLengths.length, ofLengths.length + ofUnacked.length);
    const bindings = replies.slice(ofLengths.length + ofUnacked.length);
    this.#noteBindings(read, bindings, keys);
    const held = unackedOf(unacked, keys, Date.now());
    const refused = refusalIn([...lengths, ...unacked]);
    const counts =
      question.unackedByQueue && held !== undefined ? await this.#byQueue(client, keys, queues) : '';
    return {
      queues: depthsOf(queues, lengths, keys),
      ...(held === undefined
        ? {}
        : { unacked: typeof counts === 'string' ? held : { ...held, byQueue: [...counts] } }),
      incomplete: [
        ...incomplete,
        ...(refused === undefined ? [] : [`${refused}; ${REMEDY}`]),
        ...(typeof counts === 'string' && counts !== '' ? [counts] : []),
      ],
    };
  }

  #bound(): readonly string[] {
    return [...this.#bindings.values()].flatMap((bindings) => bindings.map(({ queue }) => queue));
  }

  async #byQueue(client: Redis, { prefix, unackedKey }: PollKeys, queues: readonly string[]) {
    try {
      return await countUnacked(client, prefix + unackedKey, queues, this.#bindings);
    } catch (error) {
      if (client.status !== 'ready') throw error;
      return `${reasonOf(error)}; ${REMEDY}`;
    }
  }

  #noteBindings(exchanges: readonly string[], replies: readonly Reply[], keys: PollKeys): void {
    this.#bindings = new Map(
      exchanges.map((exchange, index) => [exchange, bindingsOf(replies[index], keys)] as const),
    );
    const search = replies[exchanges.length];
    if (search === undefined) return;
    const { cursor, exchanges: found } = searchResult(search, keys);
    this.#cursor = cursor;
    for (const exchange of found) if (this.#found.size < EXCHANGES_MAX) this.#found.add(exchange);
    if (cursor !== '0') return;
    this.#exchanges = this.#found;
    this.#found = new Set();
  }
}

/** In one pipeline. @throws if the connection breaks */
async function send(client: Redis, commands: readonly Command[]): Promise<readonly Reply[]> {
  const replies = (await client.pipeline(commands.map((command) => [...command])).exec()) ?? [];
  if (client.status !== 'ready') {
    throw replies.find(([error]) => error !== null)?.[0] ?? new Error('the server closed the connection');
  }
  return replies.map(([error, value]) => (error === null ? { value } : { error: error.message }));
}
