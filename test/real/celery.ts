/**
 * Runs real Celery: workers of the example shop, and Python scripts, with Debian's Celery or the newest one.
 * `install.ts` installs both.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { DEADLINE_MS } from '../deadline.ts';
import { atExit } from './at-exit.ts';
import { fork, forkToEnd, isLent, PYTHON_ENV } from './celery-forks.ts';
import { DEBIAN_PYTHON, newestCelery } from './install.ts';
import { OwnedProcess, runToEnd, type ServerProcess, startServerProcess } from './server-process.ts';

/** Where the example application lives: `shop.py` and `place_orders.py`. */
export const SHOP_FOLDER = resolve(import.meta.dirname, '../../examples/shop');

/** util-linux; it needs root. */
const NAMESPACE = ['unshare', '--pid', '--fork', '--kill-child'];

export interface CeleryFlavour {
  readonly name: 'debian' | 'newest';
  readonly version: string;
  /** The Python interpreter with that Celery. */
  readonly python: string;
}

export type CeleryPool = 'prefork' | 'threads' | 'solo' | 'gevent' | 'eventlet';

/** kombu’s options of Redis (transport/redis.py), as `broker_transport_options` has them. */
export interface TransportOptions {
  readonly global_keyprefix?: string;
  /** false means none. */
  readonly fanout_prefix?: string | false;
  readonly fanout_patterns?: boolean;
  /** Between the name of a queue and a priority. */
  readonly sep?: string;
  readonly priority_steps?: readonly number[];
  readonly queue_order_strategy?: 'round_robin' | 'sorted' | 'priority';
  readonly visibility_timeout?: number;
  /** The name by which sentinels know the master. */
  readonly master_name?: string;
  /** For the sentinels themselves. */
  readonly sentinel_kwargs?: { readonly password?: string };
  /** Since kombu 5.7: behind sentinels, publish to the channels of older versions too. */
  readonly sentinel_fanout_compat?: boolean;
}

/** The broker and the result backend, as URLs that Celery takes. */
export interface Cluster {
  readonly broker: string;
  readonly backend: string;
  readonly transportOptions?: TransportOptions;
}

export interface WorkerOptions extends Cluster {
  readonly flavour: CeleryFlavour;
  /** `name@host`, or a name alone for this host. */
  readonly nodename: string;
  readonly pool?: CeleryPool;
  /** Default 2. */
  readonly concurrency?: number;
  /** Whether it gets `-E` to send task events; default true. If not, its application decides. */
  readonly taskEvents?: boolean;
  /** Default: all queues of the shop. */
  readonly queues?: readonly string[];
  /** More arguments of `celery worker`. */
  readonly args?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  /** As in a container: with its own process ids, so that the first process is number 1. */
  readonly inContainer?: boolean;
  /** The folder of the application; default: the example shop's. */
  readonly folder?: string;
  /** The module of the application; default `shop`. */
  readonly app?: string;
}

export interface CeleryWorker {
  /** As its events name it: `name@host`. */
  readonly nodename: string;
  readonly pid: number;
  log(): string;
  /** Warm shutdown: resolves when running tasks are done, `worker-offline` is sent and the process gone. */
  stop(): Promise<void>;
  /** SIGKILL to the worker and its pool: no `worker-offline`, no process left. */
  kill(): Promise<void>;
}

/**
 * The Celery versions to test with: Debian's, and the newest unless it could not be installed. Throws if Debian's is
 * missing, and in CI if the newest is.
 */
export function celeryFlavours(): [CeleryFlavour, ...CeleryFlavour[]] {
  const debian = { name: 'debian', version: celeryVersion(DEBIAN_PYTHON), python: DEBIAN_PYTHON } as const;
  const newest = newestCelery();
  if (newest.available) return [debian, { name: 'newest', version: newest.version, python: newest.python }];
  if (process.env['CI'] === 'true')
    throw new Error(`in CI the newest Celery must be there: ${newest.reason}`);
  return [debian];
}

/** Starts a worker and resolves once it says that it is ready. Rejects with the end of its log if it does not. */
export async function startWorker(options: WorkerOptions): Promise<CeleryWorker> {
  const { flavour, pool = 'prefork', concurrency = 2, queues = ['orders', 'emails', 'reports'] } = options;
  const nodename = options.nodename.includes('@') ? options.nodename : `${options.nodename}@${hostname()}`;
  const folder = mkdtempSync(join(tmpdir(), 'celery-otel-worker-'));
  const removeFolder = () => rmSync(folder, { recursive: true, force: true });
  const forgetFolder = atExit(removeFolder);
  const logFile = join(folder, 'log');
  const program = {
    args: [
      ...['-m', 'celery', '--app', options.app ?? 'shop', 'worker', '--loglevel', 'INFO'],
      ...(options.taskEvents === false ? [] : ['--task-events']),
      ...['--hostname', nodename, '--pool', pool, '--concurrency', String(concurrency)],
      ...['--queues', queues.join(','), ...(options.args ?? [])],
    ],
    env: environment(options, options.env),
    cwd: options.folder ?? SHOP_FOLDER,
  };
  // Green threads patch what Celery imports.
  const isForked = !['gevent', 'eventlet'].includes(pool) && options.inContainer !== true;
  const [command, ...before] = [...(options.inContainer === true ? NAMESPACE : []), flavour.python];
  const server =
    isForked && isLent(flavour.python)
      ? new OwnedProcess(await fork(flavour.python, { ...program, stdout: logFile, stderr: logFile }), {
          command: flavour.python,
          logFile,
        })
      : await startServerProcess({
          ...{ ...program, args: [...before, ...program.args], logFile },
          command: command ?? flavour.python,
          // A cold shutdown, which also ends the pool.
          signalIfWeDie: 'QUIT',
        });
  const worker = new Worker(nodename, server, () => {
    forgetFolder();
    removeFolder();
  });
  try {
    await server.untilLog(`${nodename} ready.`, DEADLINE_MS);
    return worker;
  } catch (error) {
    await worker.kill();
    throw error;
  }
}

/** Runs a Python script of the shop to its end and returns the JSON document that it printed. */
export async function runPython(
  flavour: CeleryFlavour,
  script: string,
  args: readonly string[],
  cluster: Cluster,
  options: { readonly env?: NodeJS.ProcessEnv; readonly folder?: string } = {},
): Promise<unknown> {
  const cwd = options.folder ?? SHOP_FOLDER;
  const env = environment(cluster, options.env);
  const program = { args: [script, ...args], env, cwd };
  const output = isLent(flavour.python)
    ? await forkToEnd(flavour.python, program)
    : await runToEnd({ ...program, command: flavour.python });
  const document: unknown = JSON.parse(output);
  return document;
}

class Worker implements CeleryWorker {
  readonly nodename: string;
  readonly pid: number;
  readonly #server: ServerProcess;
  readonly #removeFolder: () => void;
  #lastLog: string | undefined;

  constructor(nodename: string, server: ServerProcess, removeFolder: () => void) {
    this.nodename = nodename;
    this.pid = server.pid;
    this.#server = server;
    this.#removeFolder = removeFolder;
  }

  log(): string {
    return this.#lastLog ?? this.#server.log();
  }

  stop(): Promise<void> {
    return this.#end('SIGTERM');
  }

  kill(): Promise<void> {
    return this.#end('SIGKILL');
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    if (this.#lastLog !== undefined) return;
    await this.#server.end(signal, DEADLINE_MS);
    this.#lastLog = this.#server.log();
    this.#removeFolder();
  }
}

function environment(cluster: Cluster, more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  return {
    ...PYTHON_ENV,
    CELERY_BROKER_URL: cluster.broker,
    CELERY_RESULT_BACKEND: cluster.backend,
    CELERY_BROKER_TRANSPORT_OPTIONS: JSON.stringify(cluster.transportOptions ?? {}),
    ...more,
  };
}

function celeryVersion(python: string): string {
  const code = 'from importlib.metadata import version; print(version("celery"))';
  try {
    return execFileSync(python, ['-c', code], { encoding: 'utf8', stdio: 'pipe' }).trim();
  } catch (cause) {
    throw new Error(`${python} has no Celery; run: node test/real/install.ts`, { cause });
  }
}
