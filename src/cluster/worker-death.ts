/**
 * When a process of a worker is known to be dead. Silence alone proves little: a worker that shuts down says goodbye and
 * then ends its tasks, one of pool solo is silent while it runs one. Pure; it changes nothing.
 */
import { LAST_WORDS_MS, settlingMs } from './lateness.ts';
import type { WorkerExit } from './observation.ts';
import type { WorkerInstance } from './worker-instance.ts';

/** How long silence is listened to, in listened time, before something follows from it. */
export interface Patience {
  /** Without a sign of life for longer than this a worker is not up. */
  readonly workerTimeoutMs: number;
  /** Without one for longer than this, a worker whose heartbeats went on while it ran tasks is taken for dead. */
  readonly lostTimeoutMs: number;
  /** A worker that is not up for longer than this is forgotten, and its series with it. */
  readonly seriesRetentionMs: number;
  /** How much later than an event an earlier one may come, ms. */
  readonly windowMs: number;
}

/** How it is known: `replaced` by a process with another pid, `restarted` with the same one, or by its silence. */
export type Death = Exclude<WorkerExit, 'goodbye'>;

/** @param siblings all processes that are known under its name, in the order in which they began */
export function deathOf(
  instance: WorkerInstance,
  siblings: readonly WorkerInstance[],
  patience: Patience,
  listenedMs: number,
): Death | undefined {
  if (instance.dropped === 'retired') return 'silence';
  /** What was told then may still be in the reordering window. */
  const isOver = (sinceMs: number, forMs: number): boolean =>
    listenedMs - sinceMs > Math.max(forMs, settlingMs(patience.windowMs));
  if (!instance.saidGoodbye) {
    // The broker may deliver its tasks anew only once there is a successor.
    const lastMs = Math.max(instance.lastSeenMs, succeededAtMs(instance, siblings));
    if (isOver(lastMs, LAST_WORDS_MS)) return instance.rebornAs === undefined ? 'replaced' : 'restarted';
    if (isOver(instance.lastSeenMs, patience.lostTimeoutMs) && instance.beatsWhileRunning) return 'silence';
  }
  return listenedMs - goneAtMs(instance, patience, listenedMs) > patience.seriesRetentionMs
    ? 'silence'
    : undefined;
}

/** Whether it is there to be given tasks; not so if it is silent, said goodbye, or has a successor. */
export function isUp(
  instance: WorkerInstance,
  siblings: readonly WorkerInstance[],
  patience: Patience,
  listenedMs: number,
): boolean {
  const isSilent = listenedMs - instance.lastSeenMs > patience.workerTimeoutMs;
  if (isSilent || instance.isOffline(listenedMs) || instance.dropped !== undefined) return false;
  if (deathOf(instance, siblings, patience, listenedMs) !== undefined) return false;
  const newest = siblings.at(-1);
  return newest === instance || instance.lastSeenMs > (newest?.firstSeenMs ?? 0);
}

/** Since when it is not up, in listened time, ms; in the future while it is. */
export function goneAtMs(
  instance: WorkerInstance,
  { workerTimeoutMs }: Pick<Patience, 'workerTimeoutMs'>,
  listenedMs: number,
): number {
  return instance.isOffline(listenedMs) ? instance.lastSeenMs : instance.lastSeenMs + workerTimeoutMs;
}

/**
 * When the process that took its place was first heard of, in listened time, ms; infinite where none did, or where it went
 * on beside the other: then they only share a name. No clock of theirs is asked.
 */
function succeededAtMs(instance: WorkerInstance, siblings: readonly WorkerInstance[]): number {
  const successor = siblings
    .slice(siblings.indexOf(instance) + 1)
    .find(({ firstSeenMs }) => instance.lastSeenMs <= firstSeenMs + LAST_WORDS_MS);
  return successor?.firstSeenMs ?? Number.POSITIVE_INFINITY;
}
