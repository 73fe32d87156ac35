/**
 * Polls Redis for queue lengths and unacknowledged messages, over a separate connection, since a subscriber cannot send
 * other commands. It finds queues by kombu’s bindings. It only reads.
 */
import type { Redis } from 'ioredis';
import { reasonOf } from '../../text/errors.ts';
import type { BrokerReading, PollQuestion } from '../broker-reading.ts';
import { requestExchangeOf } from '../control/request.ts';
import { queuesToPoll } from '../queue-names.ts';
import { REMEDY } from './connection.ts';
import { LazyClient } from './lazy-client.ts';
import { adviceOn, judged, readMembers, removal } from './mailboxes.ts';
import {
  bindingCommands,
  bindingsOf,
  type Command,
  depthsOf,
  failureIn,
  isForbidden,
  isInPart,
  lengthCommands,
  type PollKeys,
  type Reply,
  searchResult,
  unackedCommands,
  unackedOf,
  workersKey,
} from './queue-commands.ts';
import { SEPARATOR } from './separator.ts';
import type { RedisSettings } from './settings.ts';
import { type Bindings, countUnacked } from './unacked-scan.ts';
import type { RedisUrl } from './url.ts';

/** How many exchanges have their bindings read in each poll. */
const EXCHANGES_MAX = 1000;
/** For how many queues an exchange of the same name is tried; Celery’s default queue has one. */
const LIKELY_MAX = 20;

type Settings = RedisSettings & { readonly eventExchange: string };

/** The polls of one session. */
export class QueuePoll {
  readonly #settings: Settings;
  readonly #connection: LazyClient;
  /** The bindings read by the last poll, by exchange. */
  #bindings: Bindings = new Map();
  /** The exchanges that the last complete scan found. */
  #exchanges: ReadonlySet<string> = new Set();
  /** The exchanges that the current scan has found so far. */
  #found = new Set<string>();
  /** The cursor of the current scan; undefined if the user may not scan. */
  #cursor: string | undefined = '0';
  /** Whether the user may read bindings in parts. */
  #inPart = true;
  #hasMoreExchanges = false;

  constructor(url: RedisUrl, settings: Settings, connectTimeoutMs: number) {
    this.#settings = settings;
    this.#connection = new LazyClient(url, settings, connectTimeoutMs, () => {
      // The user may have been granted more permissions.
      this.#cursor ??= '0';
      this.#inPart = true;
    });
  }

  /** @throws if the server cannot be polled, or the signal aborts */
  read(question: PollQuestion, signal: AbortSignal): Promise<BrokerReading> {
    return this.#connection.use((client) => this.#ask(client, question), signal);
  }

  end(): void {
    this.#connection.end();
  }

  async #ask(client: Redis, question: PollQuestion): Promise<BrokerReading> {
    const prefix = this.#settings.globalKeyprefix;
    const key = workersKey(prefix, question.namespace);
    const members = await membersOf(client, key);
    const mailboxes = await judged(
      'value' in members ? members.value : [],
      requestExchangeOf(question.namespace),
      question.fates,
    );
    const { separators: found, leftovers, doubtful } = mailboxes;
    const { separator = found[0] ?? SEPARATOR } = question.redis;
    const keys: PollKeys = { ...question.redis, prefix, separator };
    const isKnown = keys.prioritySteps.length < 2 || found.every((one) => one === separator);
    const { queues, incomplete } = queuesToPoll([...question.queues, ...this.#bound()]);
    const read = this.#exchangesToRead(queues);
    const ofLengths = lengthCommands(queues, keys);
    const ofUnacked = unackedCommands(keys);
    const replies = await send(client, [
      ...ofLengths,
      ...ofUnacked,
      ...bindingCommands(read, this.#cursor, keys, this.#inPart),
    ]);
    const lengths = replies.slice(0, ofLengths.length);
    const unacked = replies.slice(ofLengths.length, ofLengths.length + ofUnacked.length);
    const bindings = replies.slice(ofLengths.length + ofUnacked.length);
    const unbound = this.#noteBindings(read, bindings, keys);
    const held = unackedOf(unacked, keys, Date.now());
    const failure = failureIn([
      ...lengths,
      ...unacked,
      ...(question.redis.separator === undefined ? [members] : []),
    ]);
    const counts =
      question.unackedByQueue && held !== undefined ? await this.#byQueue(client, keys, queues) : '';
    return {
      // With an unknown separator, some lists of each queue would be missing.
      queues: isKnown ? depthsOf(queues, lengths, keys) : [],
      ...(held === undefined
        ? {}
        : { unacked: typeof counts === 'string' ? held : { ...held, byQueue: [...counts] } }),
      ...(leftovers.length > 0
        ? { leftovers: leftovers.map((member) => ({ member, removal: removal(key, member) })) }
        : {}),
      incomplete: [
        ...incomplete,
        ...(isKnown ? [] : [unlike(separator, found) + adviceOn(key, doubtful)]),
        ...(failure === undefined ? [] : [`${failure}; ${REMEDY}`]),
        ...unbound,
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

  #exchangesToRead(queues: readonly string[]): readonly string[] {
    const all = new Set([...queues.slice(0, LIKELY_MAX), ...this.#exchanges, ...this.#found]);
    // The queues of the event exchange belong to event receivers.
    all.delete(this.#settings.eventExchange);
    this.#hasMoreExchanges = all.size > EXCHANGES_MAX;
    return [...all].slice(0, EXCHANGES_MAX);
  }

  /** Keeps the bindings that were read. @returns messages about bindings that are unknown */
  #noteBindings(exchanges: readonly string[], replies: readonly Reply[], keys: PollKeys): readonly string[] {
    const ofExchanges = replies.slice(0, exchanges.length);
    this.#bindings = new Map(
      exchanges.map((exchange, index) => [exchange, bindingsOf(ofExchanges[index], keys)] as const),
    );
    const search = replies[exchanges.length];
    if (search !== undefined) this.#noteSearch(search, keys);
    const failure = failureIn(ofExchanges);
    // From the next poll on, bindings are read as a whole.
    if (this.#inPart && ofExchanges.some(isForbidden)) this.#inPart = false;
    else if (failure !== undefined) return [`${failure}; ${REMEDY}`];
    const isCut = this.#hasMoreExchanges || ofExchanges.some(isInPart);
    return isCut ? ['there are more bindings than are read; list their queues in the option queues'] : [];
  }

  #noteSearch(search: Reply, keys: PollKeys): void {
    // After a failure other than a missing permission, the next poll continues the scan.
    if ('error' in search && !isForbidden(search)) return;
    const { cursor, exchanges: found } = searchResult(search, keys);
    this.#cursor = cursor;
    for (const exchange of found) {
      if (this.#found.size <= EXCHANGES_MAX) this.#found.add(exchange);
    }
    if (cursor !== '0') return;
    this.#exchanges = this.#found;
    this.#found = new Set();
  }
}

/** @throws if the connection breaks */
async function membersOf(
  client: Redis,
  key: string,
): Promise<{ readonly value: readonly string[] } | { readonly error: string }> {
  try {
    return { value: await readMembers(client, key) };
  } catch (error) {
    if (client.status !== 'ready') throw error;
    return { error: reasonOf(error) };
  }
}

function unlike(separator: string, found: readonly string[]): string {
  const [own, workers] = [[separator], found].map((all) =>
    all.map((one) => JSON.stringify(one)).join(' and '),
  );
  return `queue lengths are unknown, since workers use the separator ${workers} for priorities, not only ${own}: set sep to auto, and to one value in the broker_transport_options of all workers and clients`;
}

/** Sends the commands in one pipeline. @throws if the connection breaks */
async function send(client: Redis, commands: readonly Command[]): Promise<readonly Reply[]> {
  const replies = (await client.pipeline(commands.map((command) => [...command])).exec()) ?? [];
  if (client.status !== 'ready') {
    throw replies.find(([error]) => error !== null)?.[0] ?? new Error('the server closed the connection');
  }
  return replies.map(([error, value]) => (error === null ? { value } : { error: error.message }));
}
