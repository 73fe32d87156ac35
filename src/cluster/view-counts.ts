/** Counts the workers and queues of a view, for the code that judges or shows the state of a service. Pure; it keeps nothing. */
import type { QueueDepth } from '../broker/broker-reading.ts';
import { safeKey } from '../text/safe-key.ts';
import type { ClusterView, QueueReading, WorkerReading } from './observation.ts';

/** The numbers of workers at one moment. */
export interface WorkerCounts {
  /** All workers, including those that left or died and are not yet forgotten. */
  readonly known: number;
  readonly up: number;
  /** How many workers are alive, but have stopped listening. */
  readonly deaf: number;
  /** How many tasks all workers are running, as they reported. */
  readonly active: number;
  /** The nodenames of the first five workers that are not up. */
  readonly gone: readonly string[];
  /** The nodenames of the first five workers that are not up, sent no `worker-offline` and used to send heartbeats. */
  readonly silent: readonly string[];
  /** How many workers `silent` would name without its limit. */
  readonly silentCount: number;
  /** How many workers are not up and sent `worker-offline`. */
  readonly leftCount: number;
  /** Seconds since the last sign of life of any worker; infinite if there are no workers. */
  readonly quietS: number;
}

/** The numbers of queues and messages at the last poll of the broker. */
export interface QueueCounts {
  /** How many queues were polled. */
  readonly polled: number;
  /** How many messages wait for a worker in all queues, except parked ones. */
  readonly waiting: number;
  /** How long ago the broker was polled. */
  readonly ageMs: number;
  /** The twenty longest queues in which messages wait although nothing consumes them, with their messages. */
  readonly unconsumed: readonly { readonly queue: string; readonly length: number }[];
  /** A queue that is consumed according to the broker; undefined if there is none. */
  readonly consumed: string | undefined;
  /** How many queues are consumed, as far as known. */
  readonly consumedCount: number;
  /** How many messages Redis will soon deliver a second time. */
  readonly expiring: number;
}

/** A queue with the age of its oldest task in one state. */
export interface QueueAge {
  readonly queue: string;
  readonly ageS: number;
}

/** The twenty queues with the oldest waiting, and with the oldest running tasks, the oldest first. */
export interface OldTasks {
  readonly waiting: readonly QueueAge[];
  readonly running: readonly QueueAge[];
}

/** How many workers, and how many queues, are listed by name at most. */
const WORKERS_NAMED_MAX = 5;
const QUEUES_NAMED_MAX = 20;

export function workerCounts({ workers }: ClusterView): WorkerCounts {
  const sum = (count: (worker: WorkerReading) => number) =>
    workers.reduce((total, worker) => total + count(worker), 0);
  const firstNames = (some: readonly WorkerReading[]) =>
    some.slice(0, WORKERS_NAMED_MAX).map(({ worker }) => worker);
  const gone = workers.filter(({ up }) => !up);
  // A worker that never reported its load sends no heartbeats, so that its silence means nothing.
  const silent = gone.filter(({ hasLeft, load }) => !hasLeft && load !== undefined);
  return {
    known: workers.length,
    up: workers.length - gone.length,
    deaf: sum(({ deaf }) => Number(deaf)),
    active: sum(({ active = 0 }) => active),
    gone: firstNames(gone),
    silent: firstNames(silent),
    silentCount: silent.length,
    leftCount: sum(({ up, hasLeft }) => Number(!up && hasLeft)),
    quietS: workers.reduce(
      (shortestS, { heartbeatAgeS }) => Math.min(shortestS, heartbeatAgeS),
      Number.POSITIVE_INFINITY,
    ),
  };
}

/**
 * @param areAllKnown whether all workers have reported their queues, so that any other queue has no consumer; undefined if that is
 * unknown
 */
export function queueCounts(view: ClusterView, areAllKnown?: boolean): QueueCounts | undefined {
  const { broker } = view;
  if (broker === undefined) return undefined;
  const consumersOf = consumersIn(view, areAllKnown);
  const unconsumed = broker.queues.filter((queue) => {
    const { count, isExact } = consumersOf(queue);
    return queue.length > 0 && count === 0 && isExact && !queue.isParked;
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

/** How many consumers a queue has: according to the broker, or else to the workers’ replies, which may be incomplete. */
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
