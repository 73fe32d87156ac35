/** A second connection to Redis, since a subscriber cannot send other commands. It opens on first use and stays open until it breaks. */
import type { Redis } from 'ioredis';
import { connect, newClient } from './connection.ts';
import type { RedisSettings } from './settings.ts';
import type { RedisUrl } from './url.ts';

export class LazyClient {
  readonly #url: RedisUrl;
  readonly #settings: RedisSettings;
  readonly #connectTimeoutMs: number;
  readonly #onConnect: (client: Redis) => Promise<void> | void;
  #client: Redis | undefined;

  /** @param onConnect called with each new connection */
  constructor(
    url: RedisUrl,
    settings: RedisSettings,
    connectTimeoutMs: number,
    onConnect: (client: Redis) => Promise<void> | void,
  ) {
    this.#url = url;
    this.#settings = settings;
    this.#connectTimeoutMs = connectTimeoutMs;
    this.#onConnect = onConnect;
  }

  /** The connection, if there is one. */
  get client(): Redis | undefined {
    return this.#client?.status === 'ready' ? this.#client : undefined;
  }

  /**
   * Runs `act` with the connection. An error of `act` ends the connection.
   * @param giveUp called if the signal aborts; by default it ends the connection
   * @throws the error of `act`, or of the connection attempt
   */
  async use<Result>(
    act: (client: Redis) => Promise<Result>,
    signal: AbortSignal,
    giveUp: () => void = () => this.end(),
  ): Promise<Result> {
    signal.addEventListener('abort', giveUp);
    try {
      signal.throwIfAborted();
      return await act(await this.#connected(signal));
    } catch (error) {
      this.end();
      throw error;
    } finally {
      signal.removeEventListener('abort', giveUp);
    }
  }

  end(): void {
    this.#client?.disconnect();
    this.#client = undefined;
  }

  async #connected(signal: AbortSignal): Promise<Redis> {
    if (this.client !== undefined) return this.client;
    this.end();
    const client = await newClient(this.#url, this.#settings, this.#connectTimeoutMs, signal);
    this.#client = client;
    signal.throwIfAborted();
    await connect(client, this.#url);
    if (this.#url.db !== 0) await client.select(this.#url.db);
    // Best effort: the user may lack the permission.
    await client.client('SETNAME', this.#settings.clientName).catch(() => undefined);
    await this.#onConnect(client);
    signal.throwIfAborted();
    return client;
  }
}
