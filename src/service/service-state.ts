/**
 * What is known of a service at a moment: how fast events arrive, how late, and what was true at the last collection. It holds only
 * numbers, and queries nothing.
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
import type { TroublesRead } from './activity/troubles.ts';

export interface EventCounts {
  /** Since the start. */
  readonly received: number;
  /** Over the last ten seconds that are complete. */
  readonly perS: number;
  /** How long after it happened the last event arrived; undefined before the first. */
  readonly lagMs: number | undefined;
}

export interface PeriodicTask {
  readonly task: string;
  /** After so long without a success it is stale. */
  readonly staleAfterS: number;
  /** Undefined: no success was seen. */
  readonly succeededAgoS: number | undefined;
}

export interface ServiceState {
  readonly name: string;
  /** `waiting` for its broker, before the first connection or after a later one; the others but `listening` are final. */
  readonly phase: 'waiting' | 'listening' | 'stopped' | 'finished' | 'unusable';
  readonly events: EventCounts;
  /** Undefined before the first collection. */
  readonly workers: WorkerCounts | undefined;
  /** The last workers that were known, if there are none now. */
  readonly formerWorkers?: WorkerCounts;
  /** Undefined if the broker has not answered. */
  readonly queues: QueueCounts | undefined;
  /** Names under which many tasks were sent and have left their queue, and no worker was ever seen to run one. */
  readonly unseen?: readonly string[];
  /** At the last collection. */
  readonly old?: OldTasks;
  /** The tasks that must succeed again and again, at the last collection. */
  readonly periodic?: readonly PeriodicTask[];
  /** Absent if its activity is not kept. */
  readonly troubles?: TroublesRead;
  readonly tables: ClusterTables;
}

const WINDOW_MS = HISTORY_STEP_MS;
/** Fewer tasks of a name may have been purged or have expired. */
const UNSEEN_MIN = 10;

/** Counts events. Times are those of arrival, so that a recording has its own. */
class Traffic {
  #received = 0;
  #lagMs: number | undefined;
  /** The number of the current window, the events in it, and those in the one before. */
  #window = 0;
  #inWindow = 0;
  #inLast = 0;
  readonly #history: Activity['history'] | undefined;

  constructor(history: Activity['history'] | undefined) {
    this.#history = history;
  }

  /** @param timestampMs when it happened, if that is plausible */
  note(arrivedAtMs: number, timestampMs: number | undefined): void {
    this.#received += 1;
    if (timestampMs !== undefined) this.#lagMs = Math.max(0, arrivedAtMs - timestampMs);
    const window = Math.floor(arrivedAtMs / WINDOW_MS);
    if (window !== this.#window) {
      this.keep();
      this.#inLast = window === this.#window + 1 ? this.#inWindow : 0;
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
    const complete = age === 0 ? this.#inLast : age === 1 ? this.#inWindow : 0;
    return { received: this.#received, perS: complete / (WINDOW_MS / 1000), lagMs: this.#lagMs };
  }
}

/** What is counted of a service besides its metrics. */
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
   * @param now monotonic, ms
   * @param activity what is kept for people, too
   * @param staleAfter the tasks that must succeed again and again
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

  /** @param timestampMs when the event happened, if that is plausible */
  note(arrivedAtMs: number, timestampMs: number | undefined): void {
    this.#traffic.note(arrivedAtMs, timestampMs);
  }

  /** A view whose numbers are kept. @param arrivedMs the clock of arrivals */
  following(view: () => Promise<ClusterView>, arrivedMs: () => number): () => Promise<ClusterView> {
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

  /** What is known for people; undefined: nothing is kept. */
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
