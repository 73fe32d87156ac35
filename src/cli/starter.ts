/**
 * Detects that the npm script that started this process has ended: on SIGTERM, npm kills only the shell of the script,
 * and on SIGKILL not even that, so the command would run on. It watches npm scripts only: any other starter that exits
 * (`nohup`, `setsid`, a supervisor) wants the process to run on.
 */
import { readFileSync } from 'node:fs';
import type { CommandIo } from './command-io.ts';

const POLL_MS = 1000;

/** The process that becomes the parent of orphans. */
const INIT = 1;

/** Node resets the signal handling of `nohup` before our code runs, so only the text of the script shows it. */
const NOHUP = /(?<![\w./-])(?:[\w./-]*\/)?nohup\s/u;

/**
 * Calls `gone` once if the starter ends; does not keep the process alive.
 * @returns a function that stops watching
 */
export function watchStarter(
  { env, origin }: Pick<CommandIo, 'env' | 'origin'>,
  gone: () => void,
): () => void {
  const { starterId } = origin;
  // Set by npm, yarn, pnpm and npx for everything that their scripts start.
  const isScript = (env['npm_lifecycle_event'] ?? '') !== '';
  const survives = NOHUP.test(env['npm_lifecycle_script'] ?? '');
  if (!isScript || survives || starterId === INIT || origin.isSetApart()) return () => {};
  const npmId = origin.npmId();
  const timer = setInterval(() => {
    if (origin.parentId() === starterId && origin.npmId() === npmId) return;
    clearInterval(timer);
    gone();
  }, POLL_MS).unref();
  return () => clearInterval(timer);
}

/**
 * The id of the npm process whose script runs in this shell; undefined if the process is not such a shell (some shells
 * `exec` the command, so that npm itself is the starter), and on other systems than Linux.
 */
export function npmOf(shellId: number, script: string | undefined, folder = '/proc'): number | undefined {
  if (script === undefined || script === '') return undefined;
  try {
    const args = readFileSync(`${folder}/${shellId}/cmdline`, 'utf8').split('\0');
    const isItsShell = args.includes('-c') && args.some((arg) => arg.startsWith(script));
    return isItsShell ? readStat(`${folder}/${shellId}/stat`).parent : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Whether this process leads its own process group, as after `setsid` or when spawned `detached`; always false on other
 * systems than Linux.
 */
export function isSetApart(statFile = '/proc/self/stat'): boolean {
  try {
    const { id, group } = readStat(statFile);
    return group === id;
  } catch {
    return false;
  }
}

/** @throws if there is no such file */
function readStat(file: string): { readonly id: number; readonly parent: number; readonly group: number } {
  const stat = readFileSync(file, 'utf8');
  // The name in parentheses may contain anything; state, parent and group follow it.
  const [, parent, group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { id: Number.parseInt(stat, 10), parent: Number(parent), group: Number(group) };
}
