/**
 * Searches for workers in other Redis databases, under other prefixes and with other event exchanges, by the bindings
 * that kombu keeps for them (transport/redis.py, `_queue_bind`) and removes when they exit. It only reads, for a short
 * time, over a separate connection.
 */
import type { Redis } from 'ioredis';
import type { Elsewhere, OtherPlace, RedisSettings } from '../broker.ts';
import type { RedisUrl } from '../broker-url.ts';
import { requestsOf } from '../control/request.ts';
import { LazyClient } from './lazy-client.ts';
import { BINDINGS } from './queue-commands.ts';

const DATABASES_MAX = 32;
/** How many pages of keys are scanned in each database, and about how many keys a page has. */
const ROUNDS_MAX = 20;
const SCANNED = 1000;
const BINDINGS_MAX = 50;
const PLACES_MAX = 5;
const EXCHANGES_MAX = 5;
/** The exchange of requests with Celery’s default for `control_exchange`. */
const CONTROL = requestsOf('celery');
/**
 * The bindings of workers to their event exchange, with which they receive each other’s events (celery: events/receiver.py,
 * worker/consumer/gossip.py).
 */
const GOSSIP = 'worker.#*';

/** A sign of workers: a binding that they keep. */
interface Sign {
  readonly prefix: string;
  /** The event exchange; undefined for the exchange of requests. */
  readonly events: string | undefined;
}

/** Returns the signs found before the signal aborts, as far as the user’s permissions allow. Never rejects. */
export async function lookElsewhere(
  url: RedisUrl,
  settings: RedisSettings & { readonly eventExchange: string },
  connectTimeoutMs: number,
  signal: AbortSignal,
): Promise<Elsewhere> {
  const { eventExchange, globalKeyprefix } = settings;
  const places: OtherPlace[] = [];
  const exchanges = new Set<string>();
  const asking = new LazyClient(url, settings, connectTimeoutMs, () => {});
  const look = async (client: Redis): Promise<void> => {
    const here = await signsIn(client, globalKeyprefix);
    const own = here.filter(({ prefix }) => prefix === globalKeyprefix);
    const bound = own.flatMap(({ events }) => events ?? []);
    if (!bound.includes(eventExchange)) for (const one of bound.slice(0, EXCHANGES_MAX)) exchanges.add(one);
    // There are workers here, whether or not their events arrive.
    if (own.length > 0) return;
    const note = (signs: readonly Sign[], database: number | undefined): void => {
      for (const prefix of new Set(signs.map((sign) => sign.prefix)))
        if (places.length < PLACES_MAX)
          places.push({ database, prefix: prefix === globalKeyprefix ? undefined : prefix });
    };
    note(here, undefined);
    for (const database of databasesIn(await client.info('keyspace'), url.db)) {
      await client.select(database);
      note(await signsIn(client, globalKeyprefix), database);
    }
  };
  await asking.use(look, signal).catch(() => undefined);
  asking.end();
  return { places, exchanges: [...exchanges] };
}

/** The databases that have keys, without our own. @param keyspace one line for each, `db3:keys=5,…` */
export function databasesIn(keyspace: string, own: number): readonly number[] {
  const numbers = [...keyspace.matchAll(/^db(\d+):/gmu)].map(([, number]) => Number(number));
  return numbers.filter((number) => number !== own).slice(0, DATABASES_MAX);
}

/** The signs of workers in the selected database. */
async function signsIn(client: Redis, prefix: string): Promise<readonly Sign[]> {
  const signs: Sign[] = [];
  // Checked separately: among very many keys, the search might not reach this one.
  const type = await client.type(`${prefix}${BINDINGS}${CONTROL}`).catch(() => 'none');
  if (type === 'set') signs.push({ prefix, events: undefined });
  const keys = new Set<string>();
  let cursor = '0';
  for (let round = 0; round < ROUNDS_MAX && keys.size < BINDINGS_MAX; round += 1) {
    const [next, page] = await client.scan(cursor, 'MATCH', `*${BINDINGS}*`, 'COUNT', SCANNED);
    for (const key of page) keys.add(key);
    cursor = next;
    if (cursor === '0') break;
  }
  for (const key of [...keys].slice(0, BINDINGS_MAX)) {
    const at = key.indexOf(BINDINGS);
    const [before, exchange] = [key.slice(0, at), key.slice(at + BINDINGS.length)];
    if (exchange.endsWith(requestsOf(''))) {
      if (!exchange.startsWith('reply.')) signs.push({ prefix: before, events: undefined });
      continue;
    }
    const [, members] = await client
      .sscan(key, '0', 'MATCH', GOSSIP, 'COUNT', SCANNED)
      .catch(() => ['0', []] as const);
    if (members.length > 0) signs.push({ prefix: before, events: exchange });
  }
  return signs;
}
