/**
 * Fetches the status of a running instance over HTTP: bounded in time and in bytes, without following redirects. It
 * never prints the password of the address.
 */
import { reasonOf } from '../text/errors.ts';
import { type FoundTree, readDetails, readFound, readStatus } from '../top/reading.ts';
import type { Documents } from './snapshot-source.ts';

/** Far more than a document with thousands of rows has. */
const BYTES_MAX = 32 * 1024 * 1024;
const RESPONSE_MS = 10_000;
const REMEDY = 'Start celery-otel run there with status_address, or correct the address.';
const NOT_FOUND = 404;

/** Access to the network; tests replace it. */
export interface ClientOptions {
  readonly fetch?: typeof fetch;
  readonly bytesMax?: number;
  readonly signal: AbortSignal;
}

/** The documents of a running instance. */
export interface RemoteDocuments extends Documents {
  /** What it knows of the id of a task. */
  find(id: string): Promise<readonly FoundTree[]>;
}

/** @param address `http://HOST:PORT`, with a user and a path if a proxy needs them */
export function statusClient(
  address: URL,
  { fetch: get = fetch, bytesMax = BYTES_MAX, signal }: ClientOptions,
): RemoteDocuments {
  const base = new URL(address);
  const headers = authorization(base);
  [base.username, base.password, base.search, base.hash] = ['', '', '', ''];
  if (!base.pathname.endsWith('/')) base.pathname += '/';
  async function request(path: string): Promise<Response> {
    const ending = AbortSignal.any([signal, AbortSignal.timeout(RESPONSE_MS)]);
    try {
      return await get(new URL(path, base), { headers, redirect: 'manual', signal: ending });
    } catch (error) {
      throw new Error(causeOf(error), { cause: error });
    }
  }
  return {
    remedy: REMEDY,
    async status() {
      const response = await request('status.json');
      if (!response.ok) throw new Error(`${base.href}status.json responded with status ${response.status}`);
      const status = readStatus(await bounded(response, bytesMax));
      if (status === undefined) throw new Error('the server at this address is not celery-otel');
      return status;
    },
    async find(id) {
      const path = `details/find/${encodeURIComponent(id)}`;
      const response = await request(path);
      if (!response.ok) throw new Error(`${base.href}${path} responded with status ${response.status}`);
      const found = readFound(await bounded(response, bytesMax));
      if (found === undefined) throw new Error('the server at this address is not celery-otel');
      return found;
    },
    async service(place) {
      const response = await request(`services/${place}.json`);
      if (response.ok) return readDetails(await bounded(response, bytesMax));
      await response.body?.cancel();
      if (response.status === NOT_FOUND) return undefined;
      throw new Error(`${base.href}services/${place}.json responded with status ${response.status}`);
    },
  };
}

/** The user of the address as a header, since `fetch` refuses addresses with a user. */
function authorization({ username, password }: URL): Record<string, string> {
  if (username === '' && password === '') return {};
  const user = [username, password].map(decoded).join(':');
  return { Authorization: `Basic ${Buffer.from(user).toString('base64')}` };
}

/** A percent sign that begins no escape stands for itself. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The cause of an error of `fetch`, whose own message is only `fetch failed`. */
function causeOf(error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError')
    return `no response in ${RESPONSE_MS / 1000} s`;
  return reasonOf(error instanceof Error && error.cause !== undefined ? error.cause : error);
}

async function bounded(response: Response, bytesMax: number): Promise<string> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of response.body ?? []) {
    size += part.byteLength;
    // Leaving the loop ends the transfer.
    if (size > bytesMax) throw new Error(`the response is longer than ${bytesMax} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}
