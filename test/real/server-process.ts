/**
 * Runs a real server as a child process that never outlives the test process, however that ends. It knows no server by
 * name.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { atExit } from './at-exit.ts';

const SETPRIV = '/usr/bin/setpriv';
const LOG_TAIL_CHARS = 4000;
const LOG_LOOK_INTERVAL_MS = 50;

export interface ServerProcessOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** For stdout and stderr; appended to, so that a restarted server keeps its log. */
  readonly logFile: string;
  /** The system user to run as; needs root. */
  readonly user?: string | undefined;
  /** The signal that the kernel sends to the program if we are killed; default SIGKILL. */
  readonly signalIfWeDie?: 'KILL' | 'QUIT';
}

/** A program that runs in a process group of its own, whoever started it. */
export interface Started {
  readonly pid: number;
  /** Resolves, never rejects, with how the program ended. */
  readonly exited: Promise<string>;
}

/** A running program with its process group. */
export interface ServerProcess extends Started {
  isRunning(): boolean;
  /** Its output so far. */
  log(): string;
  /** The end of the log, for error messages. */
  logTail(): string;
  /** Resolves when the log holds `text`; rejects if the program ends before, or after `timeoutMs`. */
  untilLog(text: string, timeoutMs: number): Promise<void>;
  /**
   * Sends the signal (SIGKILL to the whole process group) and resolves when the program is gone; rejects if it runs
   * longer than `timeoutMs`, after a SIGKILL.
   */
  end(signal: NodeJS.Signals, timeoutMs: number): Promise<void>;
}

/** Starts the program. Rejects if it cannot be executed. */
export async function startServerProcess(options: ServerProcessOptions): Promise<ServerProcess> {
  const { command, args } = tiedToUs(options);
  const log = openSync(options.logFile, 'a');
  // Files instead of pipes: daemons that a server leaves behind (epmd) would keep a pipe open. Detached, for its own
  // group.
  const child = spawn(command, args, {
    env: options.env,
    cwd: options.cwd,
    stdio: ['ignore', log, log],
    detached: true,
  });
  closeSync(log);
  await once(child, 'spawn');
  if (child.pid === undefined) throw new Error(`${options.command} has no pid`);
  const exited = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
  return new OwnedProcess({ pid: child.pid, exited }, options);
}

/** Runs the program to its end and returns its stdout; rejects with its stderr if it fails. */
export async function runToEnd(
  options: Pick<ServerProcessOptions, 'command' | 'args' | 'env' | 'user' | 'cwd'> & {
    readonly input?: string;
  },
): Promise<string> {
  const { command, args } = tiedToUs(options);
  const child = spawn(command, args, {
    env: options.env,
    cwd: options.cwd,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  // It may end without reading.
  child.stdin.on('error', () => undefined).end(options.input);
  const forget = atExit(() => child.kill('SIGKILL'));
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output.stderr += text;
  });
  await once(child, 'close');
  forget();
  if (child.exitCode === 0) return output.stdout;
  const end = child.signalCode ?? `exit code ${child.exitCode}`;
  throw new Error(`${options.command} ${options.args.join(' ')}: ${end}\n${output.stderr}${output.stdout}`);
}

/** Whether a process of the group is there. */
export function isGroupAlive(leader: number): boolean {
  try {
    return process.kill(-leader, 0);
  } catch {
    return false;
  }
}

/** A program that has started, and is killed when this process exits. */
export class OwnedProcess implements ServerProcess {
  readonly pid: number;
  readonly exited: Promise<string>;
  readonly #options: Pick<ServerProcessOptions, 'command' | 'logFile'>;
  #isRunning = true;

  constructor({ pid, exited }: Started, options: Pick<ServerProcessOptions, 'command' | 'logFile'>) {
    this.pid = pid;
    this.#options = options;
    const forget = atExit(() => this.#killGroup());
    this.exited = exited.then((how) => {
      this.#isRunning = false;
      forget();
      return how;
    });
  }

  isRunning(): boolean {
    return this.#isRunning;
  }

  log(): string {
    return readFileSync(this.#options.logFile, 'utf8');
  }

  logTail(): string {
    return this.log().slice(-LOG_TAIL_CHARS);
  }

  async untilLog(text: string, timeoutMs: number): Promise<void> {
    const deadline = Date.now() + timeoutMs;
    while (!this.log().includes(text)) {
      const problem = this.isRunning() ? 'is not ready' : `ended (${await this.exited})`;
      if (!this.isRunning() || Date.now() > deadline) {
        throw new Error(`${this.#options.command} ${problem}: no '${text}' in its log\n${this.logTail()}`);
      }
      await Promise.race([delay(LOG_LOOK_INTERVAL_MS), this.exited]);
    }
  }

  async end(signal: NodeJS.Signals, timeoutMs: number): Promise<void> {
    if (signal === 'SIGKILL') this.#killGroup();
    else this.#signal(this.pid, signal);
    const late = new AbortController();
    const outcome = await Promise.race([
      this.exited,
      delay(timeoutMs, 'late' as const, { signal: late.signal }).catch(() => 'in time'),
    ]);
    late.abort();
    if (outcome !== 'late') return;
    this.#killGroup();
    await this.exited;
    throw new Error(`${this.#options.command} ignored ${signal} for ${timeoutMs} ms\n${this.logTail()}`);
  }

  #killGroup(): void {
    // The group id is the pid of its first member.
    this.#signal(-this.pid, 'SIGKILL');
  }

  #signal(target: number, signal: NodeJS.Signals): void {
    if (!this.#isRunning) return;
    try {
      process.kill(target, signal);
    } catch (error) {
      // It ended a moment ago, and whoever started it has not reported that yet.
      if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
    }
  }
}

/*
 * Exit handlers do not run after a SIGKILL. Linux can signal a child when its parent dies; `setpriv` requests
 * that, changes the user, and then becomes the program itself, so the child's pid is the program's.
 */
function tiedToUs(options: Pick<ServerProcessOptions, 'command' | 'args' | 'user' | 'signalIfWeDie'>): {
  command: string;
  args: string[];
} {
  const { command, args, user, signalIfWeDie = 'KILL' } = options;
  if (!existsSync(SETPRIV)) {
    if (user !== undefined) throw new Error(`${SETPRIV} is needed to run ${command} as ${user}`);
    return { command, args: [...args] };
  }
  const identity = user === undefined ? [] : [`--reuid=${user}`, `--regid=${user}`, '--init-groups'];
  return { command: SETPRIV, args: [...identity, `--pdeathsig=${signalIfWeDie}`, '--', command, ...args] };
}
