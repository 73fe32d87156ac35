/**
 * When a process of a worker is known to be dead. Silence alone proves little: after its `worker-offline` a worker
 * finishes its tasks, the solo pool is silent while it runs one, and heartbeats may be slow by design. Pure.
 */

import type { WorkerExit } from '../observation.ts';
import { LATE_EVENTS_MS, settlingMs } from '../window/lateness.ts';
import { silenceMs } from './heartbeat-patience.ts';
import type { WorkerInstance } from './worker-instance.ts';

/** How long silence lasts, in listened time, before a conclusion is drawn. */
export interface Timeouts {
  /** A worker that is silent for longer is not up. */
  readonly workerTimeoutMs: number;
  /** A worker that is silent for longer is dead if it used to send heartbeats while it ran tasks. */
  readonly lostTimeoutMs: number;
  /** A worker that is not up for longer is forgotten with its series. */
  readonly seriesRetentionMs: number;
  /** How much later than an event an earlier one may arrive, ms. */
  readonly windowMs: number;
}

/** Why: `replaced` by a process with another pid, `restarted` with the same one, or by `silence`. */
export type Death = Exclude<WorkerExit, 'goodbye'>;

/** @param siblings all known processes under its name, in order of their start */
export function deathOf(
  instance: WorkerInstance,
  siblings: readonly WorkerInstance[],
  timeouts: Timeouts,
  listenedMs: number,
): Death | undefined {
  if (instance.dropped === 'retired') return 'silence';
  // Another process with its name and pid may still have its tasks.
  const cannotTell = instance.isShared;
  /** Events from then may still be in the reordering window. */
  const isOver = (sinceMs: number, forMs: number): boolean =>
    listenedMs - sinceMs > Math.max(forMs, settlingMs(timeouts.windowMs));
  if (instance.goodbye === undefined && !cannotTell) {
    // The broker may redeliver its tasks only once there is a successor.
    const lastMs = Math.max(instance.lastSeenMs, successorAtMs(instance, siblings));
    if (isOver(lastMs, LATE_EVENTS_MS)) return instance.restartedAs === undefined ? 'replaced' : 'restarted';
    const lostMs = silenceMs(timeouts.lostTimeoutMs, instance);
    if (isOver(instance.lastSeenMs, lostMs) && instance.beatsWhileRunning) return 'silence';
  }
  return listenedMs - goneAtMs(instance, timeouts, listenedMs) > timeouts.seriesRetentionMs
    ? 'silence'
    : undefined;
}

/** Whether it can take tasks: it is not silent, not offline, and has no successor. */
export function isUp(
  instance: WorkerInstance,
  siblings: readonly WorkerInstance[],
  timeouts: Timeouts,
  listenedMs: number,
): boolean {
  const isSilent = listenedMs - instance.lastSeenMs > silenceMs(timeouts.workerTimeoutMs, instance);
  if (isSilent || instance.isOffline(listenedMs) || instance.dropped !== undefined) return false;
  if (deathOf(instance, siblings, timeouts, listenedMs) !== undefined) return false;
  const newest = siblings.at(-1);
  return newest === instance || instance.lastSeenMs > (newest?.firstSeenMs ?? 0);
}

/** Since when it is not up, in listened time, ms; in the future while it is. */
export function goneAtMs(
  instance: WorkerInstance,
  { workerTimeoutMs }: Pick<Timeouts, 'workerTimeoutMs'>,
  listenedMs: number,
): number {
  const { lastSeenMs } = instance;
  return instance.isOffline(listenedMs) ? lastSeenMs : lastSeenMs + silenceMs(workerTimeoutMs, instance);
}

/**
 * When the first event of its successor arrived, in listened time, ms; infinite if it has none, or if it kept running
 * alongside the other process: then they only share a name. The workers’ clocks are not used.
 */
function successorAtMs(instance: WorkerInstance, siblings: readonly WorkerInstance[]): number {
  const successor = siblings
    .slice(siblings.indexOf(instance) + 1)
    .find(({ firstSeenMs }) => instance.lastSeenMs <= firstSeenMs + LATE_EVENTS_MS);
  return successor?.firstSeenMs ?? Number.POSITIVE_INFINITY;
}
