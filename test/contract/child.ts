/** Runs a program to its end and captures its output. One that does not end by itself is killed and reported. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

export interface Ended {
  /** null where it had to be killed. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ChildOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly timeoutMs: number;
}

export async function runChild(
  command: string,
  args: readonly string[],
  options: ChildOptions,
): Promise<Ended> {
  const { cwd, env, timeoutMs } = options;
  const child = spawn(command, args, {
    cwd,
    env,
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const written = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      written[name] += text;
    });
  }
  const [code] = await once(child, 'close');
  return { code, ...written };
}
