/**
 * Sends remote control commands through Redis, over a separate connection (kombu: transport/redis.py). It writes one
 * member of kombu’s set of bindings, only while a command is open, and reads one list; both are ours.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Redis } from 'ioredis';
import { reasonOf } from '../../text/errors.ts';
import { pause } from '../../timing/pause.ts';
import type { Audience, ControlAnswer, ControlQuestion } from '../control/control.ts';
import { Gathering } from '../control/gathering.ts';
import {
  type ControlNames,
  controlNames,
  controlRequest,
  destinationsOf,
  replyBinding,
  requestEnvelope,
} from '../control/request.ts';
import type { RawMessage } from '../raw-message.ts';
import { channelsOf } from './channels.ts';
import { REMEDY } from './connection.ts';
import { envelopeBytesMax, openEnvelope } from './envelope.ts';
import { type GuardedQuestion, type Published, publishGuarded } from './guarded-question.ts';
import { LazyClient } from './lazy-client.ts';
import { adviceOn, judged, type Mailboxes, readMembers } from './mailboxes.ts';
import { BINDINGS } from './queue-commands.ts';
import { abandonedKey, closeKey, isOpen, openKey, sharedBy } from './reply-keys.ts';
import { takeReplies } from './reply-list.ts';
import { nodenameOf, SEPARATOR } from './separator.ts';
import type { RedisSettings } from './settings.ts';
import type { RedisUrl } from './url.ts';

/** The server may no longer respond: closing waits at most this long. */
const CLEAN_UP_MS_MAX = 800;
/** How long to wait between two checks for replies: at first, and at most while none arrive. */
const LOOK_MS_MIN = 5;
const LOOK_MS_MAX = 40;
/** Redis refused a command, or a command within the script, for lack of permission. */
const FORBIDDEN = /^NOPERM|The user executing the script can't/u;
/** How long a worker takes at most to send its reply: one that has begun when the binding is removed has finished after this time. */
const REPLYING_MS = 200;
/** How long after the end of a command workers may still reply. */
const LATE_MS = 1000;
/** How many pages of about a thousand members are searched for members of killed processes. */
const PAGES_MAX = 20;

/** The names and keys under which our replies arrive. */
interface Place {
  readonly names: ControlNames;
  /** The key of kombu’s set of workers with remote control. */
  readonly workers: string;
  /** The key of kombu’s set of clients that wait for replies. */
  readonly bindings: string;
  /** The key of our list of replies. */
  readonly list: string;
}

/** The remote control of one session. */
export class RedisControl {
  readonly #url: RedisUrl;
  readonly #settings: RedisSettings;
  readonly #bodyBytesMax: number;
  readonly #connection: LazyClient;
  /** The reply bindings of the commands so far, by namespace. */
  readonly #places = new Map<string, Place>();
  /** Our members of kombu’s sets that may still exist, by the key of the set. */
  readonly #members = new Map<string, string>();
  /** The workers’ separator, as found with the last command. */
  #separator = SEPARATOR;
  /** The reply key of this session; set by the first command. */
  #key: string | undefined;
  /** Until when workers may be replying, monotonic ms. */
  #repliesUntilMs = 0;
  #hasEnded = false;

  /** @param bodyBytesMax larger replies are dropped */
  constructor(url: RedisUrl, settings: RedisSettings, connectTimeoutMs: number, bodyBytesMax: number) {
    this.#url = url;
    this.#settings = settings;
    this.#bodyBytesMax = bodyBytesMax;
    this.#connection = new LazyClient(url, settings, connectTimeoutMs, () => {});
  }

  /** Sends one command at a time. @throws if it cannot be sent; if the signal aborts, it returns the replies so far */
  ask(question: ControlQuestion, signal: AbortSignal): Promise<ControlAnswer> {
    const place = this.#placeOf(question);
    this.#places.set(question.namespace, place);
    const gather = async (client: Redis): Promise<ControlAnswer> => {
      const ticket = randomUUID();
      const gathering = new Gathering(ticket, question.take);
      const untilMs = performance.now() + question.timeoutMs;
      signal.throwIfAborted();
      this.#repliesUntilMs = untilMs + LATE_MS;
      await this.#sweep(client, place, sharedBy(hostname(), question.redis.owner));
      const audience = await this.#publish(client, place, question, ticket);
      gathering.audience = audience;
      if (audience.mailboxes.size === 0) gathering.receivers = 0;
      // With a destination, all workers receive the command and only some reply, so the number of listeners is not used.
      else if (question.destination === undefined && audience.listening > 0)
        gathering.receivers = audience.listening;
      await this.#gather(client, place.list, gathering, untilMs, signal);
      await this.#cleanUp(client);
      return gathering.answer();
    };
    if (this.#hasEnded) return Promise.reject(new Error('the session has ended'));
    return this.#connection
      .use(gather, signal, () => void this.#close())
      .catch((error: unknown) => {
        const reason = reasonOf(error);
        throw FORBIDDEN.test(reason) ? new Error(`${reason}; ${REMEDY}`, { cause: error }) : error;
      });
  }

  async #gather(
    client: Redis,
    list: string,
    gathering: Gathering,
    untilMs: number,
    signal: AbortSignal,
  ): Promise<void> {
    const bytesMax = envelopeBytesMax(this.#bodyBytesMax);
    let lookMs = LOOK_MS_MIN;
    while (!(gathering.isDone || signal.aborted)) {
      const replies = await takeReplies(client, list, bytesMax);
      for (const reply of replies) {
        if (gathering.isDone) return;
        const opened = reply === 'too-large' ? reply : this.#open(reply);
        gathering.offer(opened);
      }
      const leftMs = untilMs - performance.now();
      if (leftMs <= 0) return;
      lookMs = replies.length > 0 ? LOOK_MS_MIN : Math.min(2 * lookMs, LOOK_MS_MAX);
      if (!gathering.isDone) await pause(Math.min(lookMs, leftMs), signal);
    }
  }

  #open(reply: Buffer): RawMessage {
    return openEnvelope(reply, Date.now(), this.#bodyBytesMax).message;
  }

  /** @returns undefined if the user may not list clients @throws if there is no connection */
  async countListeners(signal: AbortSignal): Promise<number | undefined> {
    if (this.#hasEnded) throw new Error('the session has ended');
    const list = (client: Redis) => client.client('LIST', 'TYPE', 'PUBSUB').catch(() => undefined);
    const clients = await this.#connection.use(list, signal);
    if (clients === undefined) return undefined;
    return String(clients)
      .split('\n')
      .filter((line) => / psub=[1-9]/u.test(line)).length;
  }

  /** Removes the keys that we wrote, closes the connection, and sends no more commands. Never rejects. */
  end(): Promise<void> {
    this.#hasEnded = true;
    return this.#close();
  }

  async #close(): Promise<void> {
    const { client } = this.#connection;
    if (client !== undefined) {
      const timer = setTimeout(() => this.#connection.end(), CLEAN_UP_MS_MAX);
      await this.#cleanUp(client)
        .then(async () => {
          if (performance.now() > this.#repliesUntilMs) return;
          await new Promise((resolve) => setTimeout(resolve, REPLYING_MS));
          await this.#cleanUp(client);
        })
        .catch(() => undefined);
      clearTimeout(timer);
    }
    this.#connection.end();
    if (this.#key !== undefined) closeKey(this.#key);
  }

  /** Removes the members and lists that killed processes of this host, or a broken connection of ours, left behind. Best effort. */
  async #sweep(client: Redis, { names, bindings, list }: Place, shared: string): Promise<void> {
    const { replyKey } = names;
    let cursor = '0';
    for (let page = 0; page < PAGES_MAX; page += 1) {
      // If the key has another type, the script reports it.
      const found = await client
        .sscan(bindings, cursor, 'MATCH', `${shared}*`, 'COUNT', 1000)
        .catch(() => null);
      if (found === null) return;
      for (const member of found[1]) {
        const key = abandonedKey(member, shared, (pid, one) => one !== replyKey && isOpen(pid, one));
        if (key === undefined) continue;
        await client.srem(bindings, member);
        await client.del(list.replace(replyKey, key));
      }
      cursor = found[0];
      if (cursor === '0') return;
    }
  }

  /** Removes our bindings, then our lists: workers drop replies without a binding, so no reply creates a list again. */
  async #cleanUp(client: Redis): Promise<void> {
    for (const [bindings, member] of this.#members) {
      await client.srem(bindings, member);
      this.#members.delete(bindings);
    }
    const lists = [...this.#places.values()].map(({ list }) => list);
    if (lists.length > 0) await client.del(...lists);
  }

  #placeOf({ namespace, redis }: ControlQuestion): Place {
    this.#key ??= openKey(hostname(), redis.owner);
    const names = controlNames(namespace, this.#key);
    const { globalKeyprefix: prefix } = this.#settings;
    return {
      names,
      workers: `${prefix}${BINDINGS}${names.requests}`,
      bindings: `${prefix}${BINDINGS}${names.replies}`,
      list: `${prefix}${names.replyQueue}`,
    };
  }

  /**
   * @returns which clients received it
   * @throws if the command could harm workers; then nothing is written
   */
  async #publish(client: Redis, place: Place, question: ControlQuestion, ticket: string): Promise<Audience> {
    const { command, timeoutMs, redis } = question;
    const { names } = place;
    const expiresS = (Date.now() + timeoutMs) / 1000;
    const publish = (
      separator: string,
      destination = question.destination,
      leftovers: readonly string[] = [],
    ): Promise<Published> => {
      const member = replyBinding(names, separator);
      this.#members.set(place.bindings, member);
      const request = controlRequest(command, destination, names, ticket, expiresS);
      const guarded: GuardedQuestion = {
        ...place,
        requests: names.requests,
        leftovers,
        envelope: requestEnvelope(request, names, randomUUID()),
        channels: channelsOf(names.requests, this.#url, this.#settings),
      };
      return publishGuarded(client, guarded, separator, member);
    };
    let published = await publish(redis.separator ?? this.#separator);
    if (published.kind === 'other-separator') {
      const members = await readMembers(client, place.workers);
      const mailboxes = await judged(members, names.requests, redis.fates);
      const { leftovers } = mailboxes;
      const [separator, ...others] = mailboxes.separators;
      const isOther = redis.separator !== undefined && redis.separator !== separator;
      if (separator !== undefined && others.length === 0 && !isOther) {
        // With leftovers, the command is addressed to the other workers: one that only seems to have stopped must not reply.
        const able =
          leftovers.length === 0
            ? []
            : members.flatMap((one) => nodenameOf(one, separator, names.requests) ?? []);
        const [destination = undefined] =
          question.destination === undefined ? destinationsOf(able) : [question.destination];
        published = await publish(separator, destination, leftovers);
        this.#separator = separator;
      }
      if (published.kind === 'other-separator')
        throw new Error(unlike(redis.separator, published.separator, mailboxes, place.workers));
    }
    switch (published.kind) {
      case 'asked':
        return published.audience;
      case 'nobody':
        return { listening: 0, mailboxes: new Set() };
      case 'refused':
        throw new Error(published.reason);
    }
  }
}

const HARM = 'with another one, workers would permanently stop when they reply';

/** Why no command is sent, and what to do. @param found a separator other than the command’s, if it can be determined */
function unlike(
  configured: string | undefined,
  found: string | undefined,
  { separators, doubtful }: Mailboxes,
  key: string,
): string {
  const all = separators.map(quoted).join(', ');
  const advice = adviceOn(key, doubtful);
  if (separators.length > 1)
    return `the workers use different separators (${all}): set the same sep in broker_transport_options everywhere${advice}; ${HARM}`;
  return configured === undefined || found === undefined
    ? `the separator of a worker cannot be determined; ${HARM}`
    : `the workers use the separator ${quoted(found)}, but sep is ${quoted(configured)}: set sep to auto; ${HARM}`;
}

function quoted(separator: string): string {
  return JSON.stringify(separator);
}
