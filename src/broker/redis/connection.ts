/** Creates Redis clients with ioredis, and finds servers. No client reconnects on its own: the session loop decides that. */
import type { Redis, RedisOptions } from 'ioredis';
import { shownPlace } from '../server/address.ts';
import { isListening } from '../server/probe.ts';
import { Refusal } from '../server/refusal.ts';
import { tlsOptions } from '../server/tls-files.ts';
import { loadClientLibrary } from './client-library.ts';
import { guardClient } from './reply-guard.ts';
import type { RedisSettings } from './settings.ts';
import type { RedisPlace, RedisUrl } from './url.ts';

/** How long a connection is idle before TCP checks it, which detects dead peers. */
const KEEP_ALIVE_DELAY_MS = 30_000;
const PROBE_TIMEOUT_MS = 1000;

/** Added to the reason of a refused command. */
export const REMEDY = 'docs/brokers.md has the permissions that the user needs';

/** The options of ioredis for which replies have the shapes of RESP 2. */
type ClientOptions = Omit<RedisOptions, 'replyMapping'>;

/** Options with which a client sends only the commands that it is called for, and repeats none. */
const NOTHING_BY_ITSELF: ClientOptions = {
  lazyConnect: true,
  // Redis 5 and many proxies support no other.
  protocol: 2,
  disableClientInfo: true,
  enableReadyCheck: false,
  enableOfflineQueue: false,
  autoResubscribe: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  retryStrategy: null,
};

/**
 * Creates a client, not connected yet, for the server, or for the master that the sentinels report.
 * @throws Refusal if a TLS file cannot be read, or the sentinels refuse us or do not know the master
 */
export async function newClient(
  url: RedisUrl,
  settings: RedisSettings,
  connectTimeoutMs: number,
  signal: AbortSignal,
): Promise<Redis> {
  return await clientOf({
    ...(await placeOf(url, settings, signal)),
    ...(url.tls === undefined ? {} : { tls: await tlsOptions(url.tls) }),
    connectTimeout: connectTimeoutMs,
    keepAlive: settings.socketKeepalive ? KEEP_ALIVE_DELAY_MS : 0,
  });
}

async function clientOf(options: ClientOptions): Promise<Redis> {
  const { Redis } = await loadClientLibrary();
  const client = new Redis({ ...NOTHING_BY_ITSELF, ...options });
  guardClient(client);
  return client;
}

/**
 * Connects and logs in. ioredis itself would ignore a refused login at a server without passwords; Celery does not.
 * @throws the first error, which has the best message; a Refusal if the server refuses the login
 */
export async function connect(
  client: Redis,
  { username, password }: Pick<RedisUrl, 'username' | 'password'>,
): Promise<void> {
  let first: unknown;
  const note = (error: unknown): void => {
    first ??= error;
  };
  client.on('error', note);
  try {
    await client.connect();
    if (username !== '') await client.auth(username, password);
    else if (password !== '') await client.auth(password);
  } catch (error) {
    throw refusalOf(first ?? error);
  } finally {
    client.off('error', note);
  }
}

/** Errors of refusals that a retry does not change (Redis: server.c, acl.c). */
const REFUSED = /^(?:WRONGPASS|NOAUTH|NOPERM|ERR AUTH|ERR invalid password|ERR Client sent AUTH)/u;

/** Converts the error to a Refusal if it is one. */
export function refusalOf(error: unknown): unknown {
  return error instanceof Error && REFUSED.test(error.message)
    ? new Refusal(error.message, { cause: error })
    : error;
}

/** Whether a server accepts connections; with sentinels, the master. */
export async function isReachable(
  url: RedisUrl,
  settings: RedisSettings,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    return await isListening(await placeOf(url, settings, signal), signal);
  } catch {
    // No sentinel reports the master; the next connection attempt reports why.
    return false;
  }
}

async function placeOf(
  { at }: RedisUrl,
  settings: RedisSettings,
  signal: AbortSignal,
): Promise<RedisPlace | { path: string }> {
  if (typeof at === 'string') return { path: at };
  return 'host' in at ? at : await masterOf(at, settings, signal);
}

/** Queries one sentinel after the other. @throws if none reports the master: a Refusal if there is one, else the first failure */
async function masterOf(
  sentinels: readonly RedisPlace[],
  settings: RedisSettings,
  signal: AbortSignal,
): Promise<RedisPlace> {
  const failures: unknown[] = [];
  for (const place of sentinels) {
    if (signal.aborted) break;
    try {
      const master = await askForMaster(place, settings, signal);
      if (master !== undefined) return master;
      const { masterName } = settings;
      failures.push(new Refusal(`the sentinel ${shownPlace(place)} knows no master "${masterName}"`));
    } catch (error) {
      failures.push(error);
    }
  }
  throw failures.find((failure) => failure instanceof Refusal) ?? failures[0] ?? new Error('stopped');
}

/** The address of the master; undefined if the sentinel has no master with this name. */
async function askForMaster(
  place: RedisPlace,
  { masterName, sentinel }: RedisSettings,
  signal: AbortSignal,
): Promise<RedisPlace | undefined> {
  const client = await clientOf({
    ...place,
    ...(sentinel.tls === undefined ? {} : { tls: await tlsOptions(sentinel.tls) }),
    connectTimeout: PROBE_TIMEOUT_MS,
    commandTimeout: PROBE_TIMEOUT_MS,
  });
  const giveUp = (): void => client.disconnect();
  signal.addEventListener('abort', giveUp);
  try {
    await connect(client, { username: sentinel.username ?? '', password: sentinel.password ?? '' });
    const reply = await client.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', masterName);
    const [host, port] = Array.isArray(reply) ? reply : [];
    return typeof host === 'string' ? { host, port: Number(port) } : undefined;
  } catch (error) {
    throw refusalOf(error);
  } finally {
    signal.removeEventListener('abort', giveUp);
    client.disconnect();
  }
}
