/** Runs the real command `celery-otel run` as a user does, in its own process. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { DEADLINE_MS } from '../deadline.ts';
import { lentMain } from './built-main.ts';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

/** For workers of Celery up to 5.6 on Redis, which are not asked all of it by default. */
export const ASK_ALL = { CELERY_OTEL_CONTROL_COMMANDS: 'stats,active_queues,active' } as const;

/** A test, or a suite with what it does at its end. */
export interface Ending {
  after(end: () => unknown): void;
}

export interface BridgeProcess {
  readonly pid: number;
  /** Everything written to stderr so far. */
  log(): string;
  /** Whether it has not ended. */
  alive(): boolean;
  signal(signal: NodeJS.Signals): void;
  /** Resolves with how it ended. @throws if it has not within the deadline of all waits */
  ended(): Promise<{ readonly code: number | null; readonly stdout: string }>;
  /** Resolves once the log matches. @throws if it ends before, or not within the deadline */
  logged(pattern: RegExp): Promise<void>;
}

const running = new Set<ChildProcess>();

// If a test takes too long, this process ends, and none of its hooks runs.
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/**
 * Starts it with these environment variables and PATH only. New series have their values at once, unless they say otherwise.
 * @param args the command and its flags
 * @param nodeOptions Node’s own options
 * @param main the built command, or another program with a bridge; by default the one that was built for this run, or else the
 *   command’s TypeScript
 */
export function startBridge(
  t: Ending,
  env: Readonly<Record<string, string>>,
  args: readonly string[] = ['run'],
  nodeOptions: readonly string[] = [],
  main = lentMain() ?? MAIN,
): BridgeProcess {
  const child = spawn(process.execPath, [...nodeOptions, main, ...args], {
    env: { PATH: process.env['PATH'] ?? '', CELERY_OTEL_ZERO_FIRST: 'off', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (chunk: string) => {
      output[stream] += chunk;
    });
  }
  const closed = once(child, 'close');
  running.add(child);
  closed.finally(() => running.delete(child)).catch(() => undefined);
  t.after(async () => {
    if (!isAlive(child)) return;
    child.kill('SIGKILL');
    await closed;
  });
  return {
    pid: child.pid ?? -1,
    log: () => output.stderr,
    alive: () => isAlive(child),
    signal: (signal) => child.kill(signal),
    async ended() {
      await within(DEADLINE_MS, closed, () => `it has not ended; its log:\n${output.stderr}`);
      return { code: child.exitCode, stdout: output.stdout };
    },
    async logged(pattern) {
      const signal = AbortSignal.timeout(DEADLINE_MS);
      while (!pattern.test(output.stderr)) {
        if (!isAlive(child))
          throw new Error(`it ended before it logged ${pattern}; its log:\n${output.stderr}`);
        await once(child.stderr, 'data', { signal }).catch((cause: unknown) => {
          throw new Error(`it has not logged ${pattern}; its log:\n${output.stderr}`, { cause });
        });
      }
    },
  };
}

function isAlive(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

async function within<T>(timeoutMs: number, promise: Promise<T>, otherwise: () => string): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(otherwise())), timeoutMs);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
