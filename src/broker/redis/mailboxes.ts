/**
 * Examines kombu’s set of mailboxes, which has one member for each worker; kombu before 5.7 never removes a member. It finds
 * out which separator live workers use, and which members were left behind. It reads only that set, and writes nothing.
 */
import type { Redis } from 'ioredis';
import { printable } from '../../text/printable.ts';
import type { Fates } from '../control/control.ts';
import { nodenameOf, separatorOf } from './separator.ts';

/** The most members that are read: larger sets would block Redis. */
export const MEMBERS_MAX = 20_000;
const PAGE = 1000;

export interface Mailboxes {
  /** The separators of all members except the leftovers; several if workers that may still run use different ones. */
  readonly separators: readonly string[];
  /** Members of stopped workers with another separator. */
  readonly leftovers: readonly string[];
  /** A member that may be a leftover, or may belong to a worker that a command could harm; undefined if there is none. */
  readonly doubtful: string | undefined;
}

/**
 * If separators differ, events decide which workers are running.
 * @param requests the exchange of requests: mailbox names end with it
 */
export async function judged(
  members: readonly string[],
  requests: string,
  fates: Fates | undefined,
): Promise<Mailboxes> {
  const read = members.map((member) => {
    const separator = separatorOf(member);
    return { member, separator, nodename: nodenameOf(member, separator ?? '', requests) };
  });
  const separators = separatorsOf(read);
  if (separators.length < 2) return { separators, leftovers: [], doubtful: undefined };
  const fateOf = (await fates?.()) ?? (() => 'unknown' as const);
  const fated = read.map((one) => ({
    ...one,
    fate: one.nodename === undefined ? 'unknown' : fateOf(one.nodename),
  }));
  const [own, ...others] = separatorsOf(fated.filter(({ fate }) => fate === 'up'));
  const unlike = fated.filter(({ separator, fate }) => separator !== own && fate !== 'up');
  // If both workers run, events do not show which member was left behind.
  const doubtful = (unlike[0] ?? fated.find(({ separator }) => separator !== own))?.member;
  if (own === undefined || others.length > 0) return { separators, leftovers: [], doubtful };
  // A worker that also has a mailbox with the right separator gets the command, so none of its members counts as a leftover.
  const able = new Set(read.filter(({ separator }) => separator === own).map(({ nodename }) => nodename));
  const gone = unlike.filter(({ nodename, fate }) => fate === 'gone' && !able.has(nodename));
  const leftovers = new Set(gone.map(({ member }) => member));
  return {
    separators: separatorsOf(read.filter(({ member }) => !leftovers.has(member))),
    leftovers: [...leftovers],
    doubtful,
  };
}

function separatorsOf(read: readonly { readonly separator: string | undefined }[]): readonly string[] {
  return [...new Set(read.flatMap(({ separator }) => separator ?? []))].sort();
}

/** The members; if there are too many, about the first `MEMBERS_MAX`. @throws if they cannot be read */
export async function readMembers(client: Redis, key: string): Promise<readonly string[]> {
  const members = new Set<string>();
  let cursor = '0';
  do {
    const [next, page] = await client.sscan(key, cursor, 'COUNT', PAGE);
    for (const member of page) members.add(member);
    cursor = next;
  } while (cursor !== '0' && members.size <= MEMBERS_MAX);
  return [...members];
}

/** The command for `redis-cli` that removes a member. */
export function removal(key: string, member: string): string {
  return `SREM ${inRedisCli(key)} ${inRedisCli(member)}`;
}

/** The text as an argument in `redis-cli`; characters other than printable ASCII are escaped as bytes. */
function inRedisCli(text: string): string {
  if (/^[\w.:@-]+$/u.test(text)) return text;
  const escaped = [...Buffer.from(text)].map((byte) => {
    if (byte === 0x22 || byte === 0x5c) return `\\${String.fromCharCode(byte)}`;
    return byte >= 0x20 && byte < 0x7f
      ? String.fromCharCode(byte)
      : `\\x${byte.toString(16).padStart(2, '0')}`;
  });
  return `"${escaped.join('')}"`;
}

/** How to remove a doubtful member, for messages. */
export function adviceOn(key: string, doubtful: string | undefined): string {
  return doubtful === undefined
    ? ''
    : `; if the worker of ${printable(JSON.stringify(doubtful))} is no longer running, remove its name in redis-cli: ${removal(key, doubtful)}`;
}
