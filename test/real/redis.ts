/**
 * Starts Redis servers for tests, each on its own loopback ports and without persistence: their data is gone when they
 * stop. It never touches the system's own Redis service.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DEADLINE_MS } from '../deadline.ts';
import { atExit } from './at-exit.ts';
import { type Certificates, makeCertificates } from './certificates.ts';
import { freePort, isPortOpen } from './free-port.ts';
import { type ServerProcess, startServerProcess } from './server-process.ts';

export interface RedisOptions {
  /** Also listen with TLS; with `mutual`, clients must have a certificate of the same CA. */
  readonly tls?: 'server-only' | 'mutual';
  /** Also listen on a Unix socket. */
  readonly unixSocket?: boolean;
  /** Of the default user. */
  readonly password?: string;
  /** Users and their rules: `monitor on >secret &/0.celeryev/* +psubscribe`. */
  readonly users?: readonly string[];
  /** More lines of its configuration. */
  readonly configuration?: readonly string[];
}

/** A Redis server; without options it has no password. */
export interface Redis {
  /** `redis://127.0.0.1:PORT/0`, without credentials. */
  readonly url: string;
  readonly port: number;
  /** `rediss://localhost:PORT/0`; undefined without `tls`. */
  readonly tlsUrl: string | undefined;
  /** Of the server (names: localhost, 127.0.0.1), which a client may use too; undefined without `tls`. */
  readonly certificates: Certificates | undefined;
  /** undefined without `unixSocket`. */
  readonly socketPath: string | undefined;
  /** Another one after each start. */
  readonly pid: number;
  /** SIGSTOP: its connections stay open, new ones are accepted by the system, and nothing answers. */
  pause(): void;
  /** SIGCONT. */
  resume(): void;
  /** SIGKILL; resolves when the process is gone and the port closed. */
  kill(): Promise<void>;
  /** Starts a killed server on the same ports, without data. */
  start(): Promise<void>;
  /** Shuts it down cleanly, then start(). */
  restart(): Promise<void>;
  /** Resolves when its process is gone and its port closed; removes its folder. May be called twice. */
  stop(): Promise<void>;
}

/** Starts a server and resolves once it takes connections. Rejects with the end of its log if it does not. */
export async function startRedis(options: RedisOptions = {}): Promise<Redis> {
  const tlsPort = options.tls === undefined ? undefined : await freePort();
  const server = new Server({ plain: await freePort(), tls: tlsPort }, options);
  try {
    await server.start();
    return server;
  } catch (error) {
    await server.stop();
    throw error;
  }
}

interface Ports {
  readonly plain: number;
  readonly tls: number | undefined;
}

class Server implements Redis {
  readonly url: string;
  readonly port: number;
  readonly tlsUrl: string | undefined;
  readonly certificates: Certificates | undefined;
  readonly socketPath: string | undefined;
  readonly #folder: string;
  readonly #forgetFolder: () => void;
  readonly #file: string;
  #process: ServerProcess | undefined;
  #starts = 0;

  constructor(ports: Ports, options: RedisOptions) {
    this.port = ports.plain;
    this.url = `redis://127.0.0.1:${ports.plain}/0`;
    this.tlsUrl = ports.tls === undefined ? undefined : `rediss://localhost:${ports.tls}/0`;
    this.#folder = mkdtempSync(join(tmpdir(), 'celery-otel-redis-'));
    this.#forgetFolder = atExit(() => this.#removeFolder());
    this.socketPath = options.unixSocket === true ? join(this.#folder, 'socket') : undefined;
    this.certificates = ports.tls === undefined ? undefined : makeCertificates(join(this.#folder, 'tls'));
    this.#file = join(this.#folder, 'redis.conf');
    const lines = [
      `port ${ports.plain}`,
      'bind 127.0.0.1',
      `dir ${this.#folder}`,
      'save ""',
      'appendonly no',
      ...(this.socketPath === undefined ? [] : [`unixsocket ${this.socketPath}`]),
      ...tlsLines(ports.tls, this.certificates, options.tls === 'mutual'),
      ...(options.password === undefined ? [] : [`requirepass ${options.password}`]),
      ...(options.users ?? []).map((user) => `user ${user}`),
      ...(options.configuration ?? []),
    ];
    writeFileSync(this.#file, `${lines.join('\n')}\n`);
  }

  get pid(): number {
    if (this.#process === undefined) throw new Error('the Redis server is not running');
    return this.#process.pid;
  }

  pause(): void {
    process.kill(this.pid, 'SIGSTOP');
  }

  resume(): void {
    process.kill(this.pid, 'SIGCONT');
  }

  async start(): Promise<void> {
    if (this.#process !== undefined) throw new Error('the Redis server is already running');
    this.#starts += 1;
    const server = await startServerProcess({
      command: 'redis-server',
      args: [this.#file],
      env: { PATH: process.env['PATH'] },
      // One for each start, so that an earlier one does not say that this one is ready.
      logFile: join(this.#folder, `log-${this.#starts}`),
    });
    this.#process = server;
    await server.untilLog('Ready to accept connections', DEADLINE_MS);
  }

  kill(): Promise<void> {
    return this.#end('SIGKILL');
  }

  async restart(): Promise<void> {
    await this.#end('SIGTERM');
    await this.start();
  }

  async stop(): Promise<void> {
    try {
      await this.#end('SIGTERM');
    } finally {
      this.#forgetFolder();
      this.#removeFolder();
    }
  }

  #removeFolder(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const server = this.#process;
    if (server === undefined) return;
    // A paused process does not act on other signals.
    if (server.isRunning()) this.resume();
    this.#process = undefined;
    await server.end(signal, DEADLINE_MS);
    if (await isPortOpen(this.port)) throw new Error(`port ${this.port} is still open after ${signal}`);
  }
}

function tlsLines(
  port: number | undefined,
  files: Certificates | undefined,
  isMutual: boolean,
): readonly string[] {
  if (port === undefined || files === undefined) return [];
  return [
    `tls-port ${port}`,
    `tls-ca-cert-file ${files.caFile}`,
    `tls-cert-file ${files.certFile}`,
    `tls-key-file ${files.keyFile}`,
    `tls-auth-clients ${isMutual ? 'yes' : 'no'}`,
  ];
}
