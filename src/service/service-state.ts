/**
 * What is known of a service at a moment: how fast events arrive, how late, and what was true at the last collection. It holds only
 * numbers, and queries nothing.
 */

import type { QueueDepth } from '../broker/broker-reading.ts';
import type { ClusterTables, ClusterView, WorkerReading } from '../cluster/observation.ts';
import { safeKey } from '../text/safe-key.ts';
import type { Activity, ServiceActivity } from './activity/activity.ts';
import { HISTORY_STEP_MS } from './activity/history.ts';

/** The numbers of workers, at the last collection. */
export interface WorkerCounts {
  /** Including those that left or died and are not yet forgotten. */
  readonly known: number;
  readonly up: number;
  /** They send heartbeats, but have stopped listening. */
  readonly deaf: number;
  /** Tasks executing. */
  readonly active: number;
  /** The first of those that are not up. */
  readonly gone: readonly string[];
  /** The first of those that are not up and sent no `worker-offline`. */
  readonly silent: readonly string[];
  readonly silentCount: number;
}

/** What the broker knew of its queues when it was asked last. */
export interface QueueCounts {
  readonly polled: number;
  /** Messages that a worker could take, of all queues. */
  readonly waiting: number;
  readonly ageMs: number;
  /** The longest of those in which messages wait without a consumer. */
  readonly unconsumed: readonly { readonly queue: string; readonly length: number }[];
  /** One that is consumed; undefined if none is. */
  readonly consumed: string | undefined;
}

export interface EventCounts {
  /** Since the start. */
  readonly received: number;
  /** Over the last ten seconds that are complete. */
  readonly perS: number;
  /** How long after it happened the last event arrived; undefined before the first. */
  readonly lagMs: number | undefined;
}

export interface ServiceState {
  readonly name: string;
  /** `waiting` for its broker, before the first connection or after a later one; the others but `listening` are final. */
  readonly phase: 'waiting' | 'listening' | 'stopped' | 'finished' | 'unusable';
  readonly events: EventCounts;
  /** Undefined before the first collection. */
  readonly workers: WorkerCounts | undefined;
  /** Undefined if the broker has not answered. */
  readonly queues: QueueCounts | undefined;
  /** Names under which many tasks were sent and have left their queue, and no worker was ever seen to run one. */
  readonly unseen?: readonly string[];
  readonly tables: ClusterTables;
}

const WINDOW_MS = HISTORY_STEP_MS;
/** Names that are kept. */
const NAMED_MAX = 5;
const QUEUES_NAMED_MAX = 20;
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
  #queues: QueueCounts | undefined;
  #unseen: readonly string[] = [];
  #viewedMs = 0;

  /**
   * @param now monotonic, ms
   * @param activity what is kept for people, too
   */
  constructor(now: () => number, activity?: Activity) {
    this.#now = now;
    this.#activity = activity;
    this.#traffic = new Traffic(activity?.history);
  }

  /** @param timestampMs when the event happened, if that is plausible */
  note(arrivedAtMs: number, timestampMs: number | undefined): void {
    this.#traffic.note(arrivedAtMs, timestampMs);
  }

  /** A view whose numbers are kept. */
  following(view: () => Promise<ClusterView>): () => Promise<ClusterView> {
    return async () => {
      const viewed = await view();
      this.#keep(viewed);
      return viewed;
    };
  }

  /** What is known for people; undefined: nothing is kept. */
  activity(nowMs: number, view: ClusterView): ServiceActivity | undefined {
    this.#traffic.keep();
    return this.#activity?.read(nowMs, view);
  }

  /** @param nowMs by the clock of arrivals */
  read(nowMs: number): Pick<ServiceState, 'events' | 'workers' | 'queues' | 'unseen'> {
    const queues = this.#queues && {
      ...this.#queues,
      ageMs: this.#queues.ageMs + this.#now() - this.#viewedMs,
    };
    const unseen = this.#unseen.length === 0 ? {} : { unseen: this.#unseen };
    return { events: this.#traffic.counts(nowMs), workers: this.#workers, queues, ...unseen };
  }

  #keep(view: ClusterView): void {
    const { left = [] } = view;
    this.#unseen = left.filter(({ count }) => count >= UNSEEN_MIN).map(({ task }) => task);
    this.#viewedMs = this.#now();
    this.#workers = workerCounts(view);
    this.#queues = queueCounts(view);
  }
}

export function workerCounts({ workers }: ClusterView): WorkerCounts {
  const sum = (count: (worker: WorkerReading) => number) =>
    workers.reduce((total, worker) => total + count(worker), 0);
  const named = (some: readonly WorkerReading[]) => some.slice(0, NAMED_MAX).map(({ worker }) => worker);
  const gone = workers.filter(({ up }) => !up);
  // Without heartbeats, silence means nothing.
  const silent = gone.filter(({ hasLeft, load }) => !hasLeft && load !== undefined);
  return {
    known: workers.length,
    up: workers.length - gone.length,
    deaf: sum(({ deaf }) => Number(deaf)),
    active: sum(({ active = 0 }) => active),
    gone: named(gone),
    silent: named(silent),
    silentCount: silent.length,
  };
}

/**
 * @param areAllKnown whether all workers have reported their queues, so that a queue that is not among them has none; undefined if that
 * is unknown
 */
export function queueCounts(view: ClusterView, areAllKnown?: boolean): QueueCounts | undefined {
  const { broker } = view;
  if (broker === undefined) return undefined;
  const consumersOf = consumersIn(view, areAllKnown);
  const unconsumed = broker.queues.filter((queue) => {
    const { count, isExact } = consumersOf(queue);
    return queue.length > 0 && count === 0 && isExact;
  });
  return {
    polled: broker.queues.length,
    waiting: broker.queues.reduce((total, { length }) => total + length, 0),
    ageMs: broker.ageMs,
    unconsumed: unconsumed
      .toSorted((one, other) => other.length - one.length)
      .slice(0, QUEUES_NAMED_MAX)
      .map(({ queue, length }) => ({ queue, length })),
    consumed: broker.queues.find(({ consumers = 0 }) => consumers > 0)?.queue,
  };
}

/** How many consume a queue: by the broker, or else by what workers reported, which may be incomplete. */
export function consumersIn(
  { reported }: ClusterView,
  areAllKnown?: boolean,
): (queue: QueueDepth) => { readonly count: number; readonly isExact: boolean } {
  const workersOf = new Map(
    (reported?.consumers ?? []).map(({ queue, workers }) => [safeKey(queue), workers]),
  );
  return ({ queue, consumers }) => {
    const count = consumers ?? workersOf.get(safeKey(queue));
    return { count: count ?? 0, isExact: consumers !== undefined || (areAllKnown ?? count !== undefined) };
  };
}
