/**
 * Notices that whoever started this process is gone. It only looks where a script of npm did: after a SIGTERM npm ends the
 * shell of the script and dies, but nobody tells the command in that shell, and after a SIGKILL not even the shell is told.
 * Everybody else who starts a process and ends (`nohup`, `setsid`, a supervisor) means it to go on.
 */
import { readFileSync } from 'node:fs';
import type { CommandIo } from './command-io.ts';

const POLL_MS = 1000;

/** The process that takes in those whose parent ended. */
const INIT = 1;

/** Node takes back what `nohup` asks for before any of our code runs; that it was asked stands in the script alone. */
const NOHUP = /(?<![\w./-])(?:[\w./-]*\/)?nohup\s/u;

/**
 * Calls back once if the starter ends; keeps no process alive.
 * @returns looks no more
 */
export function watchStarter(
  { env, origin }: Pick<CommandIo, 'env' | 'origin'>,
  gone: () => void,
): () => void {
  const { starterId } = origin;
  // npm, and whatever else runs such scripts (yarn, pnpm, npx), sets it for all that is started by them.
  const isOfScript = (env['npm_lifecycle_event'] ?? '') !== '';
  const goesOn = NOHUP.test(env['npm_lifecycle_script'] ?? '');
  if (!isOfScript || goesOn || starterId === INIT || origin.isSetApart()) return () => {};
  const npmId = origin.npmId();
  const timer = setInterval(() => {
    if (origin.parentId() === starterId && origin.npmId() === npmId) return;
    clearInterval(timer);
    gone();
  }, POLL_MS).unref();
  return () => clearInterval(timer);
}

/**
 * The parent of the shell that npm runs a script in; undefined where that process is no such shell (some shells put the
 * command in their own place, and then npm is the starter), and where nobody says so: only Linux has those files.
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
 * Whether this process leads a group of its own, as after `setsid` or when it was spawned `detached`; false where nobody
 * says so: only Linux has that file.
 */
export function isSetApart(statFile = '/proc/self/stat'): boolean {
  try {
    const { id, group } = readStat(statFile);
    return group === id;
  } catch {
    return false;
  }
}

/** @throws where there is no such file */
function readStat(file: string): { readonly id: number; readonly parent: number; readonly group: number } {
  const stat = readFileSync(file, 'utf8');
  // The name in brackets may have anything in it; after it are state, parent, group.
  const [, parent, group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { id: Number.parseInt(stat, 10), parent: Number(parent), group: Number(group) };
}
