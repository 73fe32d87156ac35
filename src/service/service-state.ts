/**
 * The state of a service for its status: how fast and how late events arrive, and the numbers of the last collection.
 * It holds only numbers and names, and asks nobody.
 */

import type { ClusterTables, ClusterView } from '../cluster/observation.ts';
import {
  type OldTasks,
  oldTasks,
  type QueueCounts,
  queueCounts,
  type WorkerCounts,
  workerCounts,
} from '../cluster/view-counts.ts';
import { safeKey } from '../text/safe-key.ts';
import type { Activity, ServiceActivity } from './activity/activity.ts';
import { HISTORY_STEP_MS } from './activity/history.ts';
import type { TroublesReading } from './activity/troubles.ts';

export interface EventCounts {
  /** Events since the start. */
  readonly received: number;
  /** Events per second in the last complete window of ten seconds. */
  readonly perS: number;
  /** How many ms after it happened the latest event arrived; undefined before the first event. */
  readonly lagMs: number | undefined;
}

export interface PeriodicTask {
  readonly task: string;
  /** The task is stale after this many seconds without a success. */
  readonly staleAfterS: number;
  /** Seconds since the last success; undefined if none was seen. */
  readonly succeededAgoS: number | undefined;
}

export interface ServiceState {
  readonly name: string;
  /**
   * `waiting` for the broker, before or after a connection, and `listening` can follow each other; the others are
   * final.
   */
  readonly phase: 'waiting' | 'listening' | 'stopped' | 'finished' | 'unusable';
  readonly events: EventCounts;
  /** The workers at the last collection; undefined before the first one. */
  readonly workers: WorkerCounts | undefined;
  /** The workers that were known last; only if none are known now. */
  readonly formerWorkers?: WorkerCounts;
  /** Undefined if the broker has not answered. */
  readonly queues: QueueCounts | undefined;
  /** Task names that were sent often and have left their queue, although no worker was ever seen to run one. */
  readonly unseen?: readonly string[];
  /** The oldest waiting and running tasks at the last collection. */
  readonly old?: OldTasks;
  /** The tasks that must succeed regularly, at the last collection. */
  readonly periodic?: readonly PeriodicTask[];
  /** Absent if no activity is kept. */
  readonly troubles?: TroublesReading;
  readonly tables: ClusterTables;
}

const WINDOW_MS = HISTORY_STEP_MS;
/** Below this many tasks of a name, they may have been purged or have expired. */
const UNSEEN_MIN = 10;

/** Counts events by the time of arrival, so that a recording has its own time. */
class Traffic {
  #received = 0;
  #lagMs: number | undefined;
  /** The number of the current window, the events in it, and the events in the window before. */
  #window = 0;
  #inWindow = 0;
  #inPrevious = 0;
  readonly #history: Activity['history'] | undefined;

  constructor(history: Activity['history'] | undefined) {
    this.#history = history;
  }

  /** @param timestampMs when the event happened; undefined if that is not plausible */
  note(arrivedAtMs: number, timestampMs: number | undefined): void {
    this.#received += 1;
    if (timestampMs !== undefined) this.#lagMs = Math.max(0, arrivedAtMs - timestampMs);
    const window = Math.floor(arrivedAtMs / WINDOW_MS);
    if (window !== this.#window) {
      this.keep();
      this.#inPrevious = window === this.#window + 1 ? this.#inWindow : 0;
      this.#window = window;
      this.#inWindow = 0;
    }
    this.#inWindow += 1;
  }

  /** Puts the current window into the history. */
  keep(): void {
    if (this.#window > 0) this.#history?.set(this.#window, this.#inWindow);
  }

  counts(nowMs: number): EventCounts {
    const age = Math.floor(nowMs / WINDOW_MS) - this.#window;
    const complete = age === 0 ? this.#inPrevious : age === 1 ? this.#inWindow : 0;
    return { received: this.#received, perS: complete / (WINDOW_MS / 1000), lagMs: this.#lagMs };
  }
}

/** The numbers of a service that are kept besides its metrics. */
export class EventRates {
  readonly #traffic: Traffic;
  readonly #activity: Activity | undefined;
  readonly #now: () => number;
  #workers: WorkerCounts | undefined;
  #formerWorkers: WorkerCounts | undefined;
  #queues: QueueCounts | undefined;
  #unseen: readonly string[] = [];
  #old: OldTasks | undefined;
  readonly #staleAfter: readonly Pick<PeriodicTask, 'task' | 'staleAfterS'>[];
  #periodic: readonly PeriodicTask[] = [];
  #viewedMs = 0;

  /**
   * @param now a monotonic clock, ms
   * @param activity is filled, too, if given
   * @param staleAfter the tasks that must succeed regularly
   */
  constructor(
    now: () => number,
    activity?: Activity,
    staleAfter: readonly Pick<PeriodicTask, 'task' | 'staleAfterS'>[] = [],
  ) {
    this.#now = now;
    this.#staleAfter = staleAfter;
    this.#activity = activity;
    this.#traffic = new Traffic(activity?.history);
  }

  /** @param timestampMs when the event happened; undefined if that is not plausible */
  note(arrivedAtMs: number, timestampMs: number | undefined): void {
    this.#traffic.note(arrivedAtMs, timestampMs);
  }

  /** @returns a function that views the cluster and keeps the numbers. @param arrivedMs the clock of arrivals */
  keepingNumbers(view: () => Promise<ClusterView>, arrivedMs: () => number): () => Promise<ClusterView> {
    return async () => {
      const viewed = await view();
      this.#keep(viewed);
      this.#activity?.sample(viewed, arrivedMs());
      return viewed;
    };
  }

  /** Puts the events of the current window into the history. */
  keepTraffic(): void {
    this.#traffic.keep();
  }

  /** The activity for the status page; undefined if none is kept. */
  activity(nowMs: number, view: ClusterView): ServiceActivity | undefined {
    this.#traffic.keep();
    return this.#activity?.read(nowMs, view);
  }

  /** @param nowMs by the clock of arrivals */
  read(nowMs: number): Omit<ServiceState, 'name' | 'phase' | 'tables'> {
    const queues = this.#queues && {
      ...this.#queues,
      ageMs: this.#queues.ageMs + this.#now() - this.#viewedMs,
    };
    return {
      ...{ events: this.#traffic.counts(nowMs), workers: this.#workers, queues },
      ...(this.#workers?.known === 0 && this.#formerWorkers && { formerWorkers: this.#formerWorkers }),
      ...(this.#unseen.length > 0 && { unseen: this.#unseen }),
      ...(this.#old && { old: this.#old }),
      ...(this.#periodic.length > 0 && { periodic: this.#periodic }),
      ...(this.#activity && { troubles: this.#activity.troubles(nowMs) }),
    };
  }

  #keep(view: ClusterView): void {
    const { left = [] } = view;
    this.#unseen = left.filter(({ count }) => count >= UNSEEN_MIN).map(({ task }) => task);
    this.#viewedMs = this.#now();
    this.#workers = workerCounts(view);
    if (this.#workers.known > 0) this.#formerWorkers = this.#workers;
    this.#queues = queueCounts(view);
    this.#old = oldTasks(view);
    if (this.#staleAfter.length > 0) this.#periodic = periodicTasks(view, this.#staleAfter);
  }
}

function periodicTasks(
  { ends }: ClusterView,
  staleAfter: readonly Pick<PeriodicTask, 'task' | 'staleAfterS'>[],
): readonly PeriodicTask[] {
  const successes = new Map(
    ends.flatMap(({ task, end, ageS }) => (end === 'succeeded' ? [[safeKey(task), ageS] as const] : [])),
  );
  return staleAfter.map(({ task, staleAfterS }) => ({
    ...{ task, staleAfterS, succeededAgoS: successes.get(safeKey(task)) },
  }));
}
