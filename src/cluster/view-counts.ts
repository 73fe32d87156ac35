/** Counts workers and queues of a view, for whoever judges or shows the state of a service. Pure; it keeps nothing. */
import type { QueueDepth } from '../broker/broker-reading.ts';
import { safeKey } from '../text/safe-key.ts';
import type { ClusterView, QueueReading, WorkerReading } from './observation.ts';

/** The numbers of workers at one moment. */
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
  /** How many of those that are not up sent `worker-offline`. */
  readonly leftCount: number;
  /** Since the last sign of life of any of them, s; infinite if there are none. */
  readonly quietS: number;
}

/** What the broker knew of its queues when it was asked last. */
export interface QueueCounts {
  readonly polled: number;
  /** Messages that a worker could take, of all queues but those that are parked. */
  readonly waiting: number;
  readonly ageMs: number;
  /** The longest of those in which messages wait without a consumer. */
  readonly unconsumed: readonly { readonly queue: string; readonly length: number }[];
  /** One that is consumed; undefined if none is. */
  readonly consumed: string | undefined;
  /** How many are consumed, as far as known. */
  readonly consumedCount: number;
  /** Messages that Redis will soon deliver a second time. */
  readonly expiring: number;
}

/** A queue with the age of its oldest task in one state. */
export interface QueueAge {
  readonly queue: string;
  readonly ageS: number;
}

/** The queues with the oldest tasks, the oldest first. */
export interface OldTasks {
  readonly waiting: readonly QueueAge[];
  readonly running: readonly QueueAge[];
}

/** Workers and queues that are named. */
const NAMED_MAX = 5;
const QUEUES_NAMED_MAX = 20;

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
    leftCount: sum(({ up, hasLeft }) => Number(!up && hasLeft)),
    quietS: workers.reduce(
      (least, { heartbeatAgeS }) => Math.min(least, heartbeatAgeS),
      Number.POSITIVE_INFINITY,
    ),
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
    waiting: broker.queues.reduce((total, { length, isParked }) => total + (isParked ? 0 : length), 0),
    ageMs: broker.ageMs,
    unconsumed: unconsumed
      .toSorted((one, other) => other.length - one.length)
      .slice(0, QUEUES_NAMED_MAX)
      .map(({ queue, length }) => ({ queue, length })),
    consumed: broker.queues.find(({ consumers = 0 }) => consumers > 0)?.queue,
    consumedCount: broker.queues.filter((queue) => consumersOf(queue).count > 0).length,
    expiring: broker.unacked?.expiring ?? 0,
  };
}

export function oldTasks({ queues }: ClusterView): OldTasks {
  const oldest = (ageOf: (queue: QueueReading) => number) =>
    queues
      .map((reading) => ({ queue: reading.queue, ageS: ageOf(reading) }))
      .filter(({ ageS }) => ageS > 0)
      .toSorted((one, other) => other.ageS - one.ageS)
      .slice(0, QUEUES_NAMED_MAX);
  return {
    waiting: oldest(({ waitingAgeS }) => waitingAgeS),
    running: oldest(({ runningAgeS }) => runningAgeS),
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
  return ({ queue, consumers, isParked }) => {
    const count = consumers ?? workersOf.get(safeKey(queue));
    // It may have a consumer that is no worker.
    if (isParked) return { count: count ?? 0, isExact: false };
    return { count: count ?? 0, isExact: consumers !== undefined || (areAllKnown ?? count !== undefined) };
  };
}
