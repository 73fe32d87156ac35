/**
 * Makes the commands that one poll of Redis sends in one pipeline, and interprets their replies (kombu: transport/redis.py,
 * `_size`, `_brpop_read`, `QoS`). Pure; its commands only read.
 */
import type { QueueDepth, RedisKeys, Unacked } from '../broker-reading.ts';
import { requestExchangeOf } from '../control/request.ts';
import { isTaskQueue } from '../queue-names.ts';

/** A command, as a method of ioredis, and its arguments. */
export type Command =
  | readonly ['llen' | 'hlen' | 'smembers', key: string]
  | readonly ['sscan', key: string, cursor: '0', 'COUNT', count: string]
  | readonly ['zrange', key: string, from: '0', to: string, 'WITHSCORES']
  | readonly ['scan', cursor: string, 'MATCH', pattern: string, 'COUNT', count: string];

export interface Binding {
  /** The routing key of the binding; with wildcards for a topic exchange. */
  readonly routingKey: string;
  readonly isTopic: boolean;
  readonly queue: string;
}

export type Reply = { readonly value: unknown } | { readonly error: string };

export interface PollKeys extends RedisKeys {
  readonly separator: string;
  /** The prefix of every key. */
  readonly prefix: string;
}

/** How many unacknowledged messages are read, the oldest first. */
const UNACKED_READ_MAX = 1000;
/** How many keys one poll scans for bindings: this takes a few ms of server time. */
const SCANNED = 5000;
/** The prefix of the sets that contain an exchange’s bindings. */
export const BINDINGS = '_kombu.binding.';
/** The approximate number of bindings read per exchange: Redis decides how many it returns. */
const BINDINGS_READ_MAX = 1000;
/** A message held for this fraction of the visibility timeout is about to be redelivered. */
const EXPIRING = 0.8;

export function lengthCommands(queues: readonly string[], { prefix, ...keys }: PollKeys): readonly Command[] {
  return queues.flatMap((queue) =>
    keys.prioritySteps.map((step): Command => ['llen', prefix + listOf(queue, step, keys.separator)]),
  );
}

export function unackedCommands({ prefix, unackedKey, unackedIndexKey }: PollKeys): readonly Command[] {
  return [
    ['hlen', prefix + unackedKey],
    ['zrange', prefix + unackedIndexKey, '0', String(UNACKED_READ_MAX - 1), 'WITHSCORES'],
  ];
}

/**
 * @param exchanges the exchanges whose bindings are read
 * @param cursor of the scan for more exchanges; undefined: no scan
 * @param inPart whether to read only a limited number of each, which requires permission for `sscan`
 */
export function bindingCommands(
  exchanges: readonly string[],
  cursor: string | undefined,
  { prefix }: PollKeys,
  inPart: boolean,
): readonly Command[] {
  const reads = exchanges.map((exchange): Command => {
    const key = `${prefix}${BINDINGS}${exchange}`;
    return inPart ? ['sscan', key, '0', 'COUNT', String(BINDINGS_READ_MAX)] : ['smembers', key];
  });
  if (cursor === undefined) return reads;
  const pattern = `${prefix.replaceAll(/[\\*?[\]]/gu, '\\$&')}${BINDINGS}*`;
  return [...reads, ['scan', cursor, 'MATCH', pattern, 'COUNT', String(SCANNED)]];
}

/** The key of the bindings of remote control, whose members show which separators workers use. */
export function workersKey(prefix: string, namespace: string): string {
  return `${prefix}${BINDINGS}${requestExchangeOf(namespace)}`;
}

/** The key of a queue’s list for one priority step; for step 0 it is the queue’s own name. */
function listOf(queue: string, step: number, separator: string): string {
  return step === 0 ? queue : `${queue}${separator}${step}`;
}

/** The depths of the queues whose lists could all be read; a key of another type is not a queue. */
export function depthsOf(
  queues: readonly string[],
  replies: readonly Reply[],
  { prioritySteps }: RedisKeys,
): readonly QueueDepth[] {
  return queues.flatMap((queue, index) => {
    const lists = replies.slice(index * prioritySteps.length, (index + 1) * prioritySteps.length);
    const lengths = lists.map((reply) => numberIn(reply));
    if (lengths.includes(undefined)) return [];
    const byPriority = prioritySteps.map((step, at) => [step, lengths[at] ?? 0] as const);
    return [{ queue, length: byPriority.reduce((sum, [, length]) => sum + length, 0), byPriority }];
  });
}

/** @param nowMs epoch ms, to compare with the clocks of workers */
export function unackedOf(
  [size, index]: readonly Reply[],
  { visibilityTimeoutMs }: RedisKeys,
  nowMs: number,
): Unacked | undefined {
  const count = numberIn(size);
  if (count === undefined || index === undefined || !('value' in index)) return undefined;
  // Tags alternate with scores, the Unix time since when each message is held.
  const scores = textsIn(index.value).filter((_, at) => at % 2 === 1);
  const agesMs = scores
    .map((score) => nowMs - 1000 * Number(score))
    .filter((ageMs) => ageMs > 0 && Number.isFinite(ageMs));
  return {
    count,
    oldestAgeS: agesMs.reduce((oldest, ageMs) => Math.max(oldest, ageMs), 0) / 1000,
    expiring: agesMs.filter((ageMs) => ageMs >= EXPIRING * visibilityTimeoutMs).length,
    visibilityTimeoutS: visibilityTimeoutMs / 1000,
  };
}

/** The bindings of an exchange: `routing key SEP pattern SEP queue`; only topic exchanges have patterns. */
export function bindingsOf(reply: Reply | undefined, { separator }: PollKeys): readonly Binding[] {
  return membersIn(reply).flatMap((member) => {
    const [routingKey = '', pattern = '', queue = '', ...more] = member.split(separator);
    return isTaskQueue(queue) && more.length === 0 ? [{ routingKey, isTopic: pattern !== '', queue }] : [];
  });
}

/** The members in a reply to `smembers`, or to `sscan`, which returns a cursor first. */
function membersIn(reply: Reply | undefined): readonly string[] {
  if (reply === undefined || !('value' in reply) || !Array.isArray(reply.value)) return [];
  const [, members]: readonly unknown[] = reply.value;
  return textsIn(Array.isArray(members) ? members : reply.value);
}

/** Whether the exchange has more bindings than the reply contains. */
export function isInPart(reply: Reply): boolean {
  return (
    'value' in reply && Array.isArray(reply.value) && Array.isArray(reply.value[1]) && reply.value[0] !== '0'
  );
}

/** Whether the user may not send that command. */
export function isForbidden(reply: Reply): boolean {
  return 'error' in reply && reply.error.startsWith('NOPERM');
}

/** The end of an unacknowledged message, JSON `[envelope, exchange, routing key]` (kombu: transport/redis.py, `QoS.append`). */
const ROUTE = /, ?(?<exchange>null|"(?:[^"\\]|\\.)*"), ?(?<routingKey>"(?:[^"\\]|\\.)*")\]$/u;
/** The length of the end of a message that is searched: an exchange and a routing key, each with all characters escaped. */
const ROUTE_CHARACTERS_MAX = 4096;

/** Where an unacknowledged message came from; undefined if unreadable. */
export function routeOf(
  message: string,
): { readonly exchange: string; readonly routingKey: string } | undefined {
  const { exchange, routingKey } = ROUTE.exec(message.slice(-ROUTE_CHARACTERS_MAX))?.groups ?? {};
  if (exchange === undefined || routingKey === undefined) return undefined;
  return { exchange: unquoted(exchange), routingKey: unquoted(routingKey) };
}

function unquoted(json: string): string {
  try {
    return String(JSON.parse(json) ?? '');
  } catch {
    return '';
  }
}

/** The exchanges whose bindings a scan found, and its next cursor; `0` at the end. */
export function searchResult(reply: Reply, { prefix }: PollKeys) {
  const [cursor, keys] = 'value' in reply && Array.isArray(reply.value) ? reply.value : [];
  return {
    cursor: typeof cursor === 'string' ? cursor : undefined,
    exchanges: textsIn(keys)
      .map((key) => key.slice(prefix.length + BINDINGS.length))
      .filter((exchange) => isTaskQueue(exchange)),
  };
}

/** Why the first failed command failed; undefined if none did. */
export function failureIn(replies: readonly Reply[]): string | undefined {
  return replies.flatMap((reply) => ('error' in reply ? [reply.error] : []))[0];
}

function numberIn(reply: Reply | undefined): number | undefined {
  return reply !== undefined && 'value' in reply && typeof reply.value === 'number' ? reply.value : undefined;
}

function textsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}
