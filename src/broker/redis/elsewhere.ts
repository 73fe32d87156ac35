/**
 * Searches for workers in other Redis databases, under other prefixes and with other event exchanges, by the bindings
 * that kombu keeps for them (transport/redis.py, `_queue_bind`) and removes when they exit. It only reads, for a short
 * time, over a separate connection.
 */
import type { Redis } from 'ioredis';
import type { Elsewhere, OtherPlace } from '../broker.ts';
import { requestExchangeOf } from '../control/request.ts';
import { LazyClient } from './lazy-client.ts';
import { BINDINGS } from './queue-commands.ts';
import type { RedisSettings } from './settings.ts';
import type { RedisUrl } from './url.ts';

const DATABASES_MAX = 32;
/** How many pages of keys are scanned in each database. */
const PAGES_MAX = 20;
/** About how many keys or members a page has. */
const PAGE_SIZE = 1000;
const BINDINGS_MAX = 50;
const PLACES_MAX = 5;
const EXCHANGES_MAX = 5;
/** The exchange of remote-control requests, if `control_exchange` has Celery’s default. */
const DEFAULT_REQUEST_EXCHANGE = requestExchangeOf('celery');
/**
 * Matches the bindings of workers to their event exchange, by which they receive each other’s events (celery: events/receiver.py,
 * worker/consumer/gossip.py).
 */
const EVENT_BINDING = 'worker.#*';

/** A binding that only running workers have. */
interface WorkerBinding {
  readonly prefix: string;
  /** Undefined for a binding to the exchange of remote-control requests. */
  readonly eventExchange: string | undefined;
}

/** Returns the places and exchanges found before the signal aborts, as far as the user’s permissions allow. Never rejects. */
export async function lookElsewhere(
  url: RedisUrl,
  settings: RedisSettings & { readonly eventExchange: string },
  connectTimeoutMs: number,
  signal: AbortSignal,
): Promise<Elsewhere> {
  const { eventExchange, globalKeyprefix } = settings;
  const places: OtherPlace[] = [];
  const exchanges = new Set<string>();
  const client = new LazyClient(url, settings, connectTimeoutMs, () => {});
  const look = async (redis: Redis): Promise<void> => {
    const here = await bindingsIn(redis, globalKeyprefix);
    const own = here.filter(({ prefix }) => prefix === globalKeyprefix);
    const bound = own.flatMap(({ eventExchange: exchange }) => exchange ?? []);
    if (!bound.includes(eventExchange)) for (const one of bound.slice(0, EXCHANGES_MAX)) exchanges.add(one);
    // There are workers here, whether or not their events arrive.
    if (own.length > 0) return;
    const note = (bindings: readonly WorkerBinding[], database: number | undefined): void => {
      for (const prefix of new Set(bindings.map((binding) => binding.prefix)))
        if (places.length < PLACES_MAX)
          places.push({ database, prefix: prefix === globalKeyprefix ? undefined : prefix });
    };
    note(here, undefined);
    for (const database of databasesIn(await redis.info('keyspace'), url.db)) {
      await redis.select(database);
      note(await bindingsIn(redis, globalKeyprefix), database);
    }
  };
  await client.use(look, signal).catch(() => undefined);
  client.end();
  return { places, exchanges: [...exchanges] };
}

/** The databases that have keys, without our own. @param keyspace one line for each, `db3:keys=5,…` */
export function databasesIn(keyspace: string, own: number): readonly number[] {
  const numbers = [...keyspace.matchAll(/^db(\d+):/gmu)].map(([, number]) => Number(number));
  return numbers.filter((number) => number !== own).slice(0, DATABASES_MAX);
}

/** The bindings of workers in the selected database. */
async function bindingsIn(client: Redis, prefix: string): Promise<readonly WorkerBinding[]> {
  const bindings: WorkerBinding[] = [];
  // Checked separately: among very many keys, the search might not reach this one.
  const type = await client.type(`${prefix}${BINDINGS}${DEFAULT_REQUEST_EXCHANGE}`).catch(() => 'none');
  if (type === 'set') bindings.push({ prefix, eventExchange: undefined });
  const keys = new Set<string>();
  let cursor = '0';
  for (let round = 0; round < PAGES_MAX && keys.size < BINDINGS_MAX; round += 1) {
    const [next, page] = await client.scan(cursor, 'MATCH', `*${BINDINGS}*`, 'COUNT', PAGE_SIZE);
    for (const key of page) keys.add(key);
    cursor = next;
    if (cursor === '0') break;
  }
  for (const key of [...keys].slice(0, BINDINGS_MAX)) {
    const at = key.indexOf(BINDINGS);
    const [before, exchange] = [key.slice(0, at), key.slice(at + BINDINGS.length)];
    if (exchange.endsWith(requestExchangeOf(''))) {
      if (!exchange.startsWith('reply.')) bindings.push({ prefix: before, eventExchange: undefined });
      continue;
    }
    const [, members] = await client
      .sscan(key, '0', 'MATCH', EVENT_BINDING, 'COUNT', PAGE_SIZE)
      .catch(() => ['0', []] as const);
    if (members.length > 0) bindings.push({ prefix: before, eventExchange: exchange });
  }
  return bindings;
}
