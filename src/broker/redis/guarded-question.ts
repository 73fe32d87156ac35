/**
 * Publishes one command to workers only if that cannot harm them: one script checks that kombu’s keys are as workers expect,
 * then publishes, or else writes nothing. A worker with kombu before 5.7 that cannot send its reply never consumes a task
 * again, and on a full Redis a worker of any version exits. It does not depend on which command it is.
 */
import type { Redis } from 'ioredis';
import { printable } from '../../text/printable.ts';
import type { Audience } from '../control/control.ts';
import { MEMBERS_MAX } from './mailboxes.ts';
import { nodenameOf, separatorOf } from './separator.ts';

/**
 * Celery 5.7 and kombu (transport/redis.py, `get_table`, `_queue_bind`) keep one set with a member for each worker with
 * remote control, `SEP SEP name`, and another with a member for each client that waits for replies, `key SEP SEP
 * queue`.
 *
 * KEYS: the set of workers, the set of waiting clients, our reply list. ARGV: separator, our member, message, number of
 * channels, the channels, and the members of stopped workers. The first write must be one that a full Redis refuses:
 * after any other write, Redis would accept all of them (Redis: script.c).
 */
const SCRIPT = `
local function is(key, kind)
  local found = redis.call('TYPE', key).ok
  return found == 'none' or found == kind
end
local function members(key)
  local all, cursor = {}, '0'
  repeat
    local page = redis.call('SSCAN', key, cursor, 'COUNT', 1000)
    cursor = page[1]
    for _, member in ipairs(page[2]) do all[#all + 1] = member end
    if #all > ${MEMBERS_MAX} then return nil end
  until cursor == '0'
  return all
end
local sep = ARGV[1]
local function parts(text)
  local count, from = 1, 1
  while true do
    local first, last = string.find(text, sep, from, true)
    if not first then return count end
    count, from = count + 1, last + 1
  end
end
for _, of in ipairs({{KEYS[1], 'set'}, {KEYS[2], 'set'}, {KEYS[3], 'list'}}) do
  if not is(of[1], of[2]) then return {'type', of[1]} end
end
local workers, awaiting = members(KEYS[1]), members(KEYS[2])
if not workers then return {'crowded', KEYS[1]} end
if not awaiting then return {'crowded', KEYS[2]} end
if #workers == 0 then return {'nobody'} end
local channels, gone = tonumber(ARGV[4]), {}
for index = 5 + channels, #ARGV do gone[ARGV[index]] = true end
for _, member in ipairs(workers) do
  if not gone[member] and (string.sub(member, 1, 2 * #sep) ~= sep .. sep or parts(member) ~= 3) then return {'separator', member} end
end
for _, member in ipairs(awaiting) do
  if parts(member) ~= 3 then return {'binding', member} end
end
redis.call('SADD', KEYS[2], ARGV[2])
local receivers = 0
for index = 5, 4 + channels do
  if receivers == 0 then
    receivers = redis.pcall('PUBLISH', ARGV[index], ARGV[3])
    if type(receivers) == 'table' then
      redis.call('SREM', KEYS[2], ARGV[2])
      return {'failed', receivers.err}
    end
  end
end
return {'asked', receivers, workers}
`;

const OF_WORKERS =
  'most are mailboxes of workers that were killed, which kombu before 5.7 never removes; remove those (SREM), or the whole key (DEL) and restart the workers';
const OF_CLIENTS =
  'most are of clients, such as celery inspect or Flower, that were killed while they waited for replies; remove the key (DEL): only commands that are open lose their replies';

/** The message to publish, and the keys and channels that are used; keys include the global prefix. */
export interface GuardedQuestion {
  /** The set of workers with remote control. */
  readonly workers: string;
  /** The set of clients that wait for replies. */
  readonly bindings: string;
  /** Our reply list. */
  readonly list: string;
  readonly envelope: string;
  /** The name of the request exchange, which is the end of each mailbox name. */
  readonly requests: string;
  /** The channels to publish to: the first one; the others only if no client listens to it. */
  readonly channels: readonly string[];
  /**
   * Members of the set of workers that are ignored, because they have another separator. The command must not be
   * addressed to them.
   */
  readonly leftovers: readonly string[];
}

export type Published =
  | { readonly kind: 'asked'; readonly audience: Audience }
  /** No worker has remote control: nothing was written. */
  | { readonly kind: 'nobody' }
  /** A worker uses another separator; undefined if it cannot be determined. Nothing was written. */
  | { readonly kind: 'other-separator'; readonly separator: string | undefined }
  /** Nothing was written. */
  | { readonly kind: 'refused'; readonly reason: string };

/**
 * @param member our member of the set of waiting clients, written with this separator
 * @throws the error of Redis; nothing was written
 */
export async function publishGuarded(
  client: Redis,
  { workers, bindings, list, envelope, requests, channels, leftovers }: GuardedQuestion,
  separator: string,
  member: string,
): Promise<Published> {
  const reply: unknown = await client.eval(
    SCRIPT,
    3,
    ...[workers, bindings, list],
    ...[separator, member, envelope, channels.length, ...channels, ...leftovers],
  );
  const [kind, detail, members]: readonly unknown[] = Array.isArray(reply) ? reply : [];
  const named = printable(String(detail));
  switch (kind) {
    case 'asked':
      return {
        kind,
        audience: { listening: Number(detail), mailboxes: nodenames(members, separator, requests) },
      };
    case 'nobody':
      return { kind };
    case 'separator':
      return { kind: 'other-separator', separator: separatorOf(String(detail)) };
    case 'failed':
      throw new Error(named);
    case 'crowded':
      return {
        kind: 'refused',
        reason: `${named} has more than ${MEMBERS_MAX} members, too many to read: ${detail === workers ? OF_WORKERS : OF_CLIENTS}`,
      };
    case 'type':
      return {
        kind: 'refused',
        reason: `${named} does not have the type that kombu expects, and workers would stop when they reply: remove it`,
      };
    case 'binding':
      return {
        kind: 'refused',
        reason: `another client waits for replies with another separator, and workers would stop when they reply: remove ${named} from the set ${printable(bindings)}`,
      };
    default:
      throw new Error(`unexpected reply of Redis to a script: ${printable(JSON.stringify(reply))}`);
  }
}

function nodenames(members: unknown, separator: string, exchange: string): ReadonlySet<string> {
  const found: readonly unknown[] = Array.isArray(members) ? members : [];
  return new Set(found.flatMap((member) => nodenameOf(String(member), separator, exchange) ?? []));
}
