/**
 * One Python for each Celery of a run, of which workers and scripts are forks (`celery_forks.py`): importing Celery takes most of the
 * processor time of their start. It knows no application, and its forks end with whoever asked for them.
 */
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DEADLINE_MS } from '../deadline.ts';
import { type ServerProcess, type Started, startServerProcess } from './server-process.ts';

const SERVER = join(import.meta.dirname, 'celery_forks.py');
/** For the processes of test files: the socket of each Python, as JSON. */
const VARIABLE = 'TEST_CELERY_FORKS';

/** Of every Python of the tests. */
export const PYTHON_ENV = {
  PATH: process.env['PATH'],
  HOME: tmpdir(),
  LANG: 'C.UTF-8',
  PYTHONDONTWRITEBYTECODE: '1',
  PYTHONUNBUFFERED: '1',
};

export interface ForkOptions {
  /** The arguments of Python: `-m` and a module, `-c` and code, or a script, and the program’s own. */
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  /** The file to which each output is appended. */
  readonly stdout: string;
  readonly stderr: string;
}

/** Starts them for the processes that are started from now on. If one does not start, none stays. */
export async function lendCelery(pythons: readonly string[]): Promise<{ remove(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'celery-otel-forks-'));
  const servers: ServerProcess[] = [];
  async function remove(): Promise<void> {
    delete process.env[VARIABLE];
    await Promise.all(servers.map((server) => server.end('SIGTERM', DEADLINE_MS)));
    rmSync(folder, { recursive: true, force: true });
  }
  try {
    const sockets = await Promise.all(
      pythons.map(async (python, index) => {
        const path = join(folder, `${index}.sock`);
        const server = await startServerProcess({
          ...{ command: python, args: [SERVER, path], env: PYTHON_ENV, cwd: folder },
          logFile: join(folder, `${index}.log`),
        });
        servers.push(server);
        await server.untilLog('ready', DEADLINE_MS);
        return [python, path] as const;
      }),
    );
    process.env[VARIABLE] = JSON.stringify(Object.fromEntries(sockets));
  } catch (error) {
    await remove();
    throw error;
  }
  return { remove };
}

/** Whether there is one of this Python. */
export function isLent(python: string): boolean {
  return socketOf(python) !== undefined;
}

/** Forks it. Resolves once the program runs; rejects if there is no such Python to fork. The program is killed when this process ends. */
export async function fork(python: string, request: ForkOptions): Promise<Started> {
  // Whoever reads them need not wait for the fork to create them.
  for (const file of [request.stdout, request.stderr]) closeSync(openSync(file, 'a'));
  const connection = connect(socketOf(python) ?? '');
  const lines = createInterface(connection)[Symbol.asyncIterator]();
  connection.write(`${JSON.stringify(request)}\n`);
  const { value: pid } = await lines.next();
  if (pid === undefined) throw new Error(`${python} was not forked`);
  const exited = lines.next().then(
    ({ value }) => String(value ?? 'the Python that it was forked from ended'),
    () => 'the Python that it was forked from ended',
  );
  return { pid: Number(pid), exited };
}

/** Runs the program to its end and returns its stdout; rejects with its stderr if it fails. */
export async function forkToEnd(
  python: string,
  program: Pick<ForkOptions, 'args' | 'env' | 'cwd'>,
): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'celery-otel-script-'));
  const [stdout, stderr] = [join(folder, 'stdout'), join(folder, 'stderr')];
  try {
    const { exited } = await fork(python, { ...program, stdout, stderr });
    const how = await exited;
    if (how === 'exit code 0') return readFileSync(stdout, 'utf8');
    const texts = [stderr, stdout].map((file) => readFileSync(file, 'utf8'));
    throw new Error(`${python} ${program.args.join(' ')}: ${how}\n${texts.join('')}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function socketOf(python: string): string | undefined {
  const sockets: Readonly<Record<string, string>> = JSON.parse(process.env[VARIABLE] ?? '{}');
  return sockets[python];
}
