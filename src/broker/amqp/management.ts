/**
 * Lists the names of RabbitMQ’s queues by its management API, since AMQP has no list of them. It only reads, at most once a
 * minute, within bounds of time, pages and bytes, and follows no redirect. Its result contains the reason of a failure.
 */
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { NO_TLS } from '../../text/connection-causes.ts';
import { shortened } from '../../text/errors.ts';
import { excessOf } from '../../text/json-structure.ts';
import { isTaskQueue } from '../queue-names.ts';
import type { BrokerTls } from '../server/address.ts';
import { Refusal } from '../server/refusal.ts';
import { unreachable } from '../server/tls-failure.ts';
import { tlsOptions } from '../server/tls-files.ts';
import type { Login, ManagementUrl } from './management-url.ts';
import type { AmqpUrl } from './url.ts';

/** The shortest time between two lists, however often queues are polled: RabbitMQ goes through all its queues for each list. */
const INTERVAL_MS_MIN = 60_000;
/** How long all pages of a list may take together: the poll waits for them. */
const LISTING_MS_MAX = 3000;
const PAGES_MAX = 10;
const PAGE_SIZE = 500;
/** The most bytes of a page. 500 escaped names of 255 bytes have 0.9 MiB, and arguments and policies about as much. */
const BODY_BYTES_MAX = 2 * 1024 * 1024;
const STRUCTURE = { depthMax: 10, tokensMax: 100 * PAGE_SIZE };

/** The queues that RabbitMQ lists. */
export interface Listing {
  /** Names of queues that may be task queues, the longest queue first. */
  readonly names: readonly string[];
  /** Whether RabbitMQ has no other task queues. */
  readonly areAll: boolean;
  /** Messages that say what is missing, and why. */
  readonly incomplete: readonly string[];
}

const NOTHING: Listing = { names: [], areAll: false, incomplete: [] };

export class QueueListing {
  readonly #url: ManagementUrl;
  #latest = NOTHING;
  /** The label of the broker of the last request, and when it was sent, monotonic ms. */
  #broker = '';
  #askedUpMs = Number.NEGATIVE_INFINITY;

  constructor(url: ManagementUrl) {
    this.#url = url;
  }

  /** The latest list. After a failure, it has the names of the list before. Never rejects. */
  async read(broker: AmqpUrl, signal: AbortSignal): Promise<Listing> {
    const nowMs = performance.now();
    const isSame = this.#broker === broker.label;
    if (isSame && nowMs - this.#askedUpMs < INTERVAL_MS_MIN) return this.#latest;
    const before = isSame ? this.#latest : NOTHING;
    [this.#broker, this.#askedUpMs, this.#latest] = [broker.label, nowMs, before];
    try {
      this.#latest = await listed(this.#url, broker, signal);
    } catch (error) {
      const reason = `management_url ${this.#url.label}: ${explained(error)}`;
      if (!signal.aborted) this.#latest = { ...before, areAll: false, incomplete: [reason] };
    }
    return this.#latest;
  }
}

async function listed(url: ManagementUrl, broker: AmqpUrl, ending: AbortSignal): Promise<Listing> {
  const late = AbortSignal.timeout(LISTING_MS_MAX);
  const signal = AbortSignal.any([ending, late]);
  const options = await requestOptions(url, broker);
  const names = new Set<string>();
  let pages = 1;
  for (let page = 1; page <= Math.min(pages, PAGES_MAX); page += 1) {
    const answer = await get(url, options, pathOf(url, broker.vhost, page), signal).catch(
      (error: unknown) => {
        throw late.aborted ? new Error(`no reply within ${LISTING_MS_MAX} ms`) : error;
      },
    );
    // The page no longer exists: queues were deleted in the meantime.
    if (page > 1 && answer.status === 400) break;
    const read = pageOf(answer, broker.vhost);
    pages = read.pages;
    for (const name of read.names) names.add(name);
  }
  const areAll = pages <= PAGES_MAX;
  const most = PAGES_MAX * PAGE_SIZE;
  const beyond = `management_url lists ${most} queues of RabbitMQ, the longest ones, and there are more`;
  return { names: [...names], areAll, incomplete: areAll ? [] : [beyond] };
}

/** The path of one page. Without statistics, a list costs RabbitMQ little; old versions ignore these parameters. */
function pathOf({ prefix }: ManagementUrl, vhost: string, page: number): string {
  const query = [
    `page=${page}&page_size=${PAGE_SIZE}&pagination=true`,
    'disable_stats=true&enable_queue_totals=true',
    'columns=name,messages,auto_delete,exclusive,arguments,effective_policy_definition',
    'sort=messages&sort_reverse=true',
  ];
  // UTF-8 replaces lone surrogates, at which encodeURIComponent throws.
  return `${prefix}/api/queues/${encodeURIComponent(Buffer.from(vhost).toString())}?${query.join('&')}`;
}

/** The options of each request: the login, and the broker’s TLS settings as far as they apply. */
async function requestOptions({ isSecure, host, port, login }: ManagementUrl, broker: AmqpUrl) {
  const { username, password }: Login = login ?? broker;
  const basic = Buffer.from(`${username}:${password}`).toString('base64');
  const headers = { accept: 'application/json', authorization: `Basic ${basic}` };
  const tls = broker.tls === undefined ? undefined : await tlsOptions(tlsFor(host, broker.host, broker.tls));
  return {
    ...{ host, port, headers },
    // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED changes the default.
    ...(isSecure ? { rejectUnauthorized: true, ...tls } : {}),
    // A connection of its own for each request, and no proxy.
    agent: new (isSecure ? https : http).Agent(),
  };
}

/** The TLS settings for a host: `server_hostname` of the broker does not apply to another host. */
function tlsFor(host: string, brokerHost: string, { serverName, ...tls }: BrokerTls): BrokerTls {
  return serverName === undefined || host !== brokerHost ? tls : { ...tls, serverName };
}

interface Answer {
  readonly status: number;
  readonly body: Buffer;
}

/** @throws if there is no complete answer */
function get(
  { isSecure }: ManagementUrl,
  options: Awaited<ReturnType<typeof requestOptions>>,
  path: string,
  signal: AbortSignal,
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const request = (isSecure ? https : http).request({ ...options, path, signal });
  request.on('error', reject);
  request.on('response', (head: IncomingMessage) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    head.on('error', reject);
    head.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= BODY_BYTES_MAX) chunks.push(chunk);
      else request.destroy(new Refusal(`a reply has more than ${BODY_BYTES_MAX} bytes; ${NOT_THE_API}`));
    });
    head.on('end', () => resolve({ status: head.statusCode ?? 0, body: Buffer.concat(chunks) }));
  });
  request.end();
  return promise;
}

const NOT_THE_API = 'correct management_url, if this is not the management API of RabbitMQ';

/** @throws Refusal if it is not a page of queues */
function pageOf({ status, body }: Answer, vhost: string) {
  const value = jsonOf(body);
  if (status !== 200) throw new Refusal(refusal(status, wordsOf(value), vhost));
  const [items, pages] = [fieldOf(value, 'items'), fieldOf(value, 'page_count')];
  if (!Array.isArray(items) || !Number.isSafeInteger(pages))
    throw new Refusal(`the reply is no list of queues; ${NOT_THE_API}`);
  return { names: items.slice(0, PAGE_SIZE).flatMap(namesOf), pages: Number(pages) };
}

/**
 * The name of a queue, unless it is not a task queue. A client’s reply queue is deleted with its connection or its last
 * consumer; a task queue is permanent. A queue that expires unused is left out, too: a poll counts as use (RabbitMQ, “Queue
 * TTL”), and would keep the queue for ever.
 */
function namesOf(item: unknown): readonly string[] {
  const name = fieldOf(item, 'name');
  const isReply = fieldOf(item, 'auto_delete') === true || fieldOf(item, 'exclusive') === true;
  const expires =
    fieldOf(fieldOf(item, 'arguments'), 'x-expires') !== undefined ||
    fieldOf(fieldOf(item, 'effective_policy_definition'), 'expires') !== undefined;
  return typeof name === 'string' && !isReply && !expires && isTaskQueue(name) ? [name] : [];
}

/** The parsed JSON; undefined if it is malformed or its structure exceeds the limits. */
function jsonOf(body: Buffer): unknown {
  if (excessOf(body, STRUCTURE) !== undefined) return undefined;
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}

function fieldOf(value: unknown, key: string): unknown {
  return value instanceof Object && Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined;
}

/** The text in an error of RabbitMQ, `{"error": …, "reason": …}`; undefined if another server replies. */
function wordsOf(value: unknown): string | undefined {
  const [error, reason] = [fieldOf(value, 'error'), fieldOf(value, 'reason')];
  if (typeof error !== 'string') return undefined;
  return shortened(typeof reason === 'string' ? reason : error);
}

const TAG =
  'give the user the tag monitoring or management (rabbitmqctl set_user_tags USER monitoring) and a permission in the virtual host';
const LOGIN =
  'correct the user and password in management_url, or in broker_url if management_url has none; guest may log in only from RabbitMQ’s own host';

/** Why a request was refused, and what to do. @param words the text of RabbitMQ’s error; undefined: another server replied */
function refusal(status: number, words: string | undefined, vhost: string): string {
  const said = `(HTTP ${status}${words === undefined ? '' : `: ${words}`})`;
  if (status === 401 && words !== undefined && !/log.?in/iu.test(words))
    return `the user may not list the queues: ${TAG} ${said}`;
  if (status === 401) return `the user or the password is refused: ${LOGIN} ${said}`;
  if (status === 404 && words !== undefined)
    return `there is no virtual host ${JSON.stringify(vhost)}: correct it in broker_url, or management_url, if that is another RabbitMQ ${said}`;
  if (status >= 300 && status < 400)
    return `it redirects, which is not followed: write the final address in management_url ${said}`;
  if (status >= 500 && words === undefined)
    return `the server or a proxy before it fails: check it, or correct management_url ${said}`;
  return words === undefined ? `${NOT_THE_API} ${said}` : `RabbitMQ refuses the list ${said}`;
}

/** Why there is no answer, and what to do, by the text of the error: the first that matches. */
const CAUSES: readonly (readonly [RegExp, string])[] = [
  [
    /ECONNREFUSED/u,
    'nothing is listening there: enable the plugin (rabbitmq-plugins enable rabbitmq_management), or correct management_url; the port is 15672 by default',
  ],
  [/ENOTFOUND|EAI_AGAIN/u, 'the host name cannot be resolved: correct management_url'],
  [NO_TLS, 'there is no TLS: write http:// in management_url, or enable TLS there'],
  [
    /no reply within/u,
    'RabbitMQ is busy, or a firewall is in between: check both, or correct management_url',
  ],
];
const OF_TLS =
  'TLS fails: correct the host in management_url, or set ssl_ca_certs in broker_url or broker_use_ssl, which apply to both';

function explained(error: unknown): string {
  if (error instanceof Refusal) return error.message;
  const { reason, isTls } = unreachable(error);
  const cause = CAUSES.find(([pattern]) => pattern.test(reason))?.[1];
  return `${cause ?? (isTls === true ? OF_TLS : NOT_THE_API)} (${reason})`;
}
