/**
 * Names the key where the replies to one session arrive. No other session reads the key, and by its name the next process on
 * the host recognizes the keys that a killed process left behind. It does not connect to a broker.
 */
import { createHash } from 'node:crypto';
import { readlinkSync } from 'node:fs';
import { threadId } from 'node:worker_threads';

/** How many sessions may be open at the same time in one process. */
const SESSIONS_MAX = 0xffff;
/** The process namespace, on Linux: containers may have the same host name, but pids of another namespace mean nothing here. */
const PID_NAMESPACE = '/proc/self/ns/pid';

/** A host, a service on it, and a session of one process. */
export interface Session {
  readonly host: string;
  readonly owner: string;
  readonly pid: number;
  /** A number within the process. */
  readonly number: number;
}

/** The key in the form of a UUID, like kombu’s own: 20 digits for host and owner, 8 for the process, 4 for the session. */
export function replyKeyOf({ host, owner, pid, number }: Session): string {
  const last = pid.toString(16).padStart(8, '0') + (number % SESSIONS_MAX).toString(16).padStart(4, '0');
  return sharedBy(host, owner) + last;
}

const namespace = readNamespace();

/** The common prefix of the keys of all sessions of an owner on a host whose processes this process can check. */
export function sharedBy(host: string, owner: string): string {
  const place = `${host}\0${namespace}\0${threadId}`;
  const hash = createHash('sha256').update(`celery-otel\0${place}\0${owner}`).digest('hex');
  return hash.replace(/^(.{8})(.{4})(.{4})(.{4}).*$/u, '$1-$2-$3-$4-');
}

/**
 * The key in a member of the set of bindings, if it belongs to a session of this owner that has ended.
 * @param shared the prefix of this owner’s keys
 * @param isOpen whether that process of this host, or that session of this process, still exists
 */
export function abandonedKey(
  member: string,
  shared: string,
  isOpen: (pid: number, key: string) => boolean,
): string | undefined {
  if (!member.startsWith(shared)) return undefined;
  const last = /^(?<pid>[0-9a-f]{8})[0-9a-f]{4}/u.exec(member.slice(shared.length));
  if (last?.groups?.['pid'] === undefined) return undefined;
  const key = shared + last[0];
  return isOpen(Number.parseInt(last.groups['pid'], 16), key) ? undefined : key;
}

function readNamespace(): string {
  try {
    return readlinkSync(PID_NAMESPACE);
  } catch {
    // Systems other than Linux have no such file.
    return '';
  }
}

/** The keys of the open sessions of this thread. */
const open = new Set<string>();
let count = 0;

/** The key of a session that begins now, in this process. */
export function openKey(host: string, owner: string): string {
  count += 1;
  const key = replyKeyOf({ host, owner, pid: process.pid, number: count });
  open.add(key);
  return key;
}

/** Notes that the session of a key has ended. */
export function closeKey(key: string): void {
  open.delete(key);
}

/** Whether a session on this host still exists. */
export function isOpen(pid: number, key: string): boolean {
  if (pid === process.pid) return open.has(key);
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // The process belongs to another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
