/**
 * Starts a master and a replica of Redis with three sentinels that replace the master when it dies, for tests of failover.
 * All are on free loopback ports and in folders of their own. A killed data node stays dead.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis as Client } from 'ioredis';
import { DEADLINE_MS } from '../deadline.ts';
import { atExit } from './at-exit.ts';
import { freePort, isPortOpen } from './free-port.ts';
import { type Redis, startRedis } from './redis.ts';
import { type ServerProcess, startServerProcess } from './server-process.ts';

/** The name by which the sentinels know the master. */
export const MASTER_NAME = 'shop';

const SENTINELS = 3;
const QUORUM = 2;
/** Before a master that does not answer is replaced. */
const DOWN_AFTER_MS = 1000;
/** Before another sentinel tries, if one has failed to. */
const FAILOVER_TIMEOUT_MS = 3000;
const LOOK_INTERVAL_MS = 100;

export interface SentinelsOptions {
  /** Of the data nodes. */
  readonly password?: string;
  /** Of the sentinels themselves. */
  readonly sentinelPassword?: string;
}

export interface Sentinels {
  /** `sentinel://[:PASSWORD@]127.0.0.1:PORT/0`, one for each sentinel, with `;` between them. */
  readonly url: string;
  /** The data node that they call the master. */
  master(): Promise<Redis>;
  /** SIGKILL to the master; resolves with the new one once all sentinels know it. */
  failOver(): Promise<Redis>;
  /** Resolves when all processes are gone and their ports closed; removes their folders. May be called twice. */
  stop(): Promise<void>;
}

/** Resolves once each sentinel knows the other two and the replica. */
export async function startSentinels(options: SentinelsOptions = {}): Promise<Sentinels> {
  const group = new Group(options);
  try {
    await group.start();
    return group;
  } catch (error) {
    await group.stop();
    throw error;
  }
}

class Group implements Sentinels {
  readonly #options: SentinelsOptions;
  readonly #nodes: Redis[] = [];
  readonly #sentinels: Sentinel[] = [];

  constructor(options: SentinelsOptions) {
    this.#options = options;
  }

  get url(): string {
    const { password } = this.#options;
    const user = password === undefined ? '' : `:${encodeURIComponent(password)}@`;
    return this.#sentinels.map(({ port }) => `sentinel://${user}127.0.0.1:${port}/0`).join(';');
  }

  async start(): Promise<void> {
    const { password } = this.#options;
    const common = password === undefined ? {} : { password };
    const configuration = password === undefined ? [] : [`masterauth ${password}`];
    const first = await startRedis({ ...common, configuration });
    this.#nodes.push(first);
    const copies = ['repl-diskless-sync-delay 0', `replicaof 127.0.0.1 ${first.port}`];
    this.#nodes.push(await startRedis({ ...common, configuration: [...configuration, ...copies] }));
    for (let number = 0; number < SENTINELS; number += 1) {
      const sentinel = new Sentinel(await freePort(), this.#options);
      this.#sentinels.push(sentinel);
      await sentinel.start(first.port);
    }
    const others = String(SENTINELS - 1);
    await this.#all((seen) => seen['num-other-sentinels'] === others && seen['num-slaves'] === '1');
  }

  async master(): Promise<Redis> {
    const [sentinel] = this.#sentinels;
    const seen = await sentinel?.seen();
    return this.#nodeAt(seen?.['port']);
  }

  async failOver(): Promise<Redis> {
    const old = await this.master();
    await old.kill();
    await this.#all(({ port, flags }) => port !== String(old.port) && flags === 'master');
    return this.master();
  }

  async stop(): Promise<void> {
    // Sentinels first: they must not elect another master now.
    await Promise.all(this.#sentinels.map((sentinel) => sentinel.stop()));
    await Promise.all(this.#nodes.map((node) => node.stop()));
  }

  #nodeAt(port: string | undefined): Redis {
    const node = this.#nodes.find((each) => String(each.port) === port);
    if (node === undefined) throw new Error(`the sentinels name an unknown master at port ${port}`);
    return node;
  }

  /** Resolves once each sentinel sees the master like this. */
  async #all(isSo: (seen: Fields) => boolean): Promise<void> {
    const deadline = Date.now() + DEADLINE_MS;
    for (;;) {
      const seen = await Promise.all(this.#sentinels.map((sentinel) => sentinel.seen()));
      if (seen.every(isSo)) return;
      if (Date.now() > deadline) throw new Error(`the sentinels have not settled: ${JSON.stringify(seen)}`);
      await delay(LOOK_INTERVAL_MS);
    }
  }
}

type Fields = Readonly<Record<string, string>>;

class Sentinel {
  readonly port: number;
  readonly #options: SentinelsOptions;
  readonly #folder: string;
  readonly #forgetFolder: () => void;
  #process: ServerProcess | undefined;

  constructor(port: number, options: SentinelsOptions) {
    this.port = port;
    this.#options = options;
    this.#folder = mkdtempSync(join(tmpdir(), 'celery-otel-sentinel-'));
    this.#forgetFolder = atExit(() => this.#removeFolder());
  }

  async start(masterPort: number): Promise<void> {
    const { password, sentinelPassword } = this.#options;
    const lines = [
      `port ${this.port}`,
      'bind 127.0.0.1',
      `dir ${this.#folder}`,
      `sentinel monitor ${MASTER_NAME} 127.0.0.1 ${masterPort} ${QUORUM}`,
      `sentinel down-after-milliseconds ${MASTER_NAME} ${DOWN_AFTER_MS}`,
      `sentinel failover-timeout ${MASTER_NAME} ${FAILOVER_TIMEOUT_MS}`,
      ...(password === undefined ? [] : [`sentinel auth-pass ${MASTER_NAME} ${password}`]),
      ...(sentinelPassword === undefined ? [] : [`requirepass ${sentinelPassword}`]),
    ];
    // It rewrites its configuration.
    const file = join(this.#folder, 'sentinel.conf');
    writeFileSync(file, `${lines.join('\n')}\n`);
    this.#process = await startServerProcess({
      command: 'redis-server',
      args: [file, '--sentinel'],
      env: { PATH: process.env['PATH'] },
      logFile: join(this.#folder, 'log'),
    });
    await this.#process.untilLog('+monitor master', DEADLINE_MS);
  }

  /** What it says of the master. */
  async seen(): Promise<Fields> {
    const { sentinelPassword: password } = this.#options;
    const client = new Client({
      ...{ port: this.port, host: '127.0.0.1', lazyConnect: true, retryStrategy: null },
      ...(password === undefined ? {} : { password }),
    });
    try {
      await client.connect();
      const reply = await client.call('SENTINEL', 'MASTER', MASTER_NAME);
      return fieldsOf(Array.isArray(reply) ? reply.map(String) : []);
    } finally {
      client.disconnect();
    }
  }

  async stop(): Promise<void> {
    try {
      await this.#process?.end('SIGTERM', DEADLINE_MS);
      this.#process = undefined;
      if (await isPortOpen(this.port)) throw new Error(`port ${this.port} of a sentinel is still open`);
    } finally {
      this.#forgetFolder();
      this.#removeFolder();
    }
  }

  #removeFolder(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Of a flat list of names and values. */
function fieldsOf(list: readonly string[]): Fields {
  const pairs = Array.from({ length: list.length / 2 }, (_, at) => [list[2 * at], list[2 * at + 1]]);
  return Object.fromEntries(pairs);
}
