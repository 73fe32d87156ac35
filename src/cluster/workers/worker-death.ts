/**
 * The table of rules by which a worker process is known to be dead, so that its running tasks are lost. Silence alone proves
 * little: after its `worker-offline` (its goodbye) a worker finishes its tasks, the solo pool is silent while it runs one, and
 * heartbeats may be slow by design. Pure.
 */

import type { WorkerExit } from '../observation.ts';
import { LATE_EVENTS_MS, settlingMs } from '../window/lateness.ts';
import { silenceMs } from './heartbeat-patience.ts';
import type { WorkerInstance } from './worker-instance.ts';

/** For how many ms of listened time a worker must be silent before each conclusion is drawn. */
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

/** Why a process is known to be dead: one with another pid `replaced` it, it `restarted` with the same pid, or by its `silence`. */
export type Death = Exclude<WorkerExit, 'goodbye'>;

/** One way in which a process is known to be dead. */
interface DeathRule {
  /** The events that the process and others send, in words, for docs/counting.md. */
  readonly evidence: readonly string[];
  /** When the process counts as dead, in words, for docs/counting.md. */
  readonly after: string;
  /** Why the process is dead; undefined if this rule does not show that it is. */
  readonly death: (situation: Situation) => Death | undefined;
}

/** A process at one moment. */
interface Situation {
  readonly instance: WorkerInstance;
  /** All known processes under its name, in order of their start. */
  readonly siblings: readonly WorkerInstance[];
  readonly timeouts: Timeouts;
  readonly listenedMs: number;
}

/** The first rule that holds decides. While none holds, the tasks of the process are not lost. */
export const DEATH_RULES: readonly DeathRule[] = [
  {
    evidence: [
      'No goodbye, and another process with the same nodename starts, be it with another pid or with the same one, as in a container that is restarted',
    ],
    after: '10 s after the last event of the old process and the first one of the new process',
    death(situation) {
      const { instance, siblings } = situation;
      // The broker may redeliver its tasks only once there is a successor.
      const lastMs = Math.max(instance.lastSeenMs, successorAtMs(instance, siblings));
      if (!provesAlone(instance) || !hasPassedSettled(situation, lastMs, LATE_EVENTS_MS)) return undefined;
      return instance.restartedAs === undefined ? 'replaced' : 'restarted';
    },
  },
  {
    evidence: [
      'Nothing, and its heartbeats used to come while it ran tasks; or they came at all, and it reported that its pool is prefork or threads',
    ],
    after: 'after `lost_timeout`',
    death(situation) {
      const { instance, timeouts } = situation;
      const lostMs = silenceMs(timeouts.lostTimeoutMs, instance);
      const isSilent = provesAlone(instance) && hasPassedSettled(situation, instance.lastSeenMs, lostMs);
      return isSilent && instance.beatsWhileRunning ? 'silence' : undefined;
    },
  },
  {
    evidence: [
      'Nothing, after a goodbye: a warm shutdown finishes its tasks first, maybe while its successor is running',
      'Nothing, from a worker with the pool solo, which is silent while it runs a task',
    ],
    after: 'when the worker is forgotten: `series_retention` after `celery.worker.up` became 0',
    death: ({ instance, timeouts, listenedMs }) =>
      listenedMs - goneAtMs(instance, timeouts, listenedMs) > timeouts.seriesRetentionMs
        ? 'silence'
        : undefined,
  },
];

/** Why the process is dead; undefined while it may be alive. @param siblings all processes under its name, by start */
export function deathOf(
  instance: WorkerInstance,
  siblings: readonly WorkerInstance[],
  timeouts: Timeouts,
  listenedMs: number,
): Death | undefined {
  if (instance.dropped === 'retired') return 'silence';
  const situation = { instance, siblings, timeouts, listenedMs };
  for (const { death } of DEATH_RULES) {
    const found = death(situation);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Whether silence or a successor proves a death: without a goodbye, and if no other process shares the nodename and pid. */
function provesAlone({ goodbye, isShared }: WorkerInstance): boolean {
  return goodbye === undefined && !isShared;
}

/** Whether more than `forMs` have passed since a moment, and no event from before it is still in the reordering window. */
function hasPassedSettled({ timeouts, listenedMs }: Situation, sinceMs: number, forMs: number): boolean {
  return listenedMs - sinceMs > Math.max(forMs, settlingMs(timeouts.windowMs));
}

/** Whether the process can take tasks: it is not silent, not offline, and has no successor. */
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

/** Since when the process has not been up, in listened time, ms; a moment in the future while it is up. */
export function goneAtMs(
  instance: WorkerInstance,
  { workerTimeoutMs }: Pick<Timeouts, 'workerTimeoutMs'>,
  listenedMs: number,
): number {
  const { lastSeenMs } = instance;
  return instance.isOffline(listenedMs) ? lastSeenMs : lastSeenMs + silenceMs(workerTimeoutMs, instance);
}

/**
 * When the first event of the successor of a process arrived, in listened time, ms; infinite if there is no successor. A process
 * that starts while the other one keeps running is no successor: the two only share a nodename. No clock of a worker is used.
 */
function successorAtMs(instance: WorkerInstance, siblings: readonly WorkerInstance[]): number {
  const successor = siblings
    .slice(siblings.indexOf(instance) + 1)
    .find(({ firstSeenMs }) => instance.lastSeenMs <= firstSeenMs + LATE_EVENTS_MS);
  return successor?.firstSeenMs ?? Number.POSITIVE_INFINITY;
}
