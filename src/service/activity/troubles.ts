/**
 * What may be wrong with the tasks and workers of one service, for the judge: failures, losses and crashes of the last minutes. It
 * judges nothing. Pure and bounded: the time is an argument, that of arrivals.
 */
import type { Observation } from '../../cluster/observation.ts';
import { safeKey, textOf } from '../../text/safe-key.ts';
import type { OfTask, TaskActivity, TaskReading } from './task-activity.ts';

/** How many tasks or workers are listed at most, for each kind of trouble. */
const NAMED_MAX = 20;
/** How many tasks or workers are tracked at most, for each kind of trouble. */
const KEPT_MAX = 1000;
const EXITS_MAX = 10;
const CRASHES_MS = 30 * 60_000;
const LOST_MS = 10 * 60_000;
/** How long the first failure of a task counts as recent. */
const FIRST_FAILURE_MS = 60 * 60_000;
/** How long a reading is cached: each takes a step for every task that fails. */
const FRESH_MS = 5000;

export interface TroubledTask {
  readonly task: string;
  readonly failed: number;
  /** Runs that succeeded or failed. */
  readonly ended: number;
  readonly lost: number;
  /** Whether its first failure ever was within the last hour. */
  readonly isFirstFailure: boolean;
  readonly errors: TaskReading['errors'];
}

export interface TroublesRead {
  /** The time that the counts of tasks cover. */
  readonly spanMs: number;
  /** Tasks with failures or losses, or with a recent first failure; those with the most come first. */
  readonly tasks: readonly TroubledTask[];
  /** All failures and all losses, including those of tasks that are not listed. */
  readonly failed: number;
  readonly lost: number;
  /** How often workers were replaced or restarted without a goodbye, in the last half hour. */
  readonly crashes: readonly { readonly worker: string; readonly count: number }[];
  /** Lost `task-started` events of each worker, if any were lost in the last ten minutes. */
  readonly eventsLost: readonly { readonly worker: string; readonly count: number }[];
}

export class Troubles {
  /** The last times at which each worker was replaced or restarted. */
  readonly #exits = new Map<string, number[]>();
  readonly #eventsLost = new Map<string, { count: number; atMs: number }>();
  /** Tasks that failed or were lost recently, by name. */
  readonly #tasks = new Map<string, TaskActivity>();
  #read: TroublesRead | undefined;
  #readMs = 0;

  observe(it: Observation, nowMs: number): void {
    if (it.kind === 'worker-exited' && (it.reason === 'replaced' || it.reason === 'restarted'))
      this.#noteExit(safeKey(it.worker), nowMs);
    if (it.kind === 'worker-progressed' && it.eventsLost > 0)
      this.#noteLost(safeKey(it.worker), it.eventsLost, nowMs);
  }

  observeTask({ kind, run }: OfTask, task: TaskActivity): void {
    if (kind === 'task-failed' || kind === 'task-lost') keep(this.#tasks, safeKey(run.task), task);
  }

  /** Some seconds old at most. */
  read(nowMs: number, spanMs: number): TroublesRead {
    if (this.#read !== undefined && Math.abs(nowMs - this.#readMs) < FRESH_MS) return this.#read;
    this.#readMs = nowMs;
    this.#read = {
      spanMs,
      ...this.#troubled(nowMs),
      crashes: named(this.#exits, (times) => times.filter((atMs) => nowMs - atMs <= CRASHES_MS).length),
      eventsLost: named(this.#eventsLost, ({ count, atMs }) => (nowMs - atMs <= LOST_MS ? count : 0)),
    };
    return this.#read;
  }

  #troubled(nowMs: number): Pick<TroublesRead, 'tasks' | 'failed' | 'lost'> {
    const found = [...this.#tasks].flatMap(([key, activity]) => {
      const { firstFailedMs = Number.NEGATIVE_INFINITY, ...trouble } = activity.trouble(nowMs);
      const isFirstFailure = nowMs - firstFailedMs <= FIRST_FAILURE_MS;
      if (trouble.failed + trouble.lost > 0 || isFirstFailure) return { key, ...trouble, isFirstFailure };
      this.#tasks.delete(key);
      return [];
    });
    const tasks = found
      .toSorted((one, other) => other.failed + other.lost - (one.failed + one.lost))
      .slice(0, NAMED_MAX)
      .map(({ key, errors, ...counts }) => ({ task: textOf(key), ...counts, errors: errors() }));
    return {
      tasks,
      failed: found.reduce((sum, { failed }) => sum + failed, 0),
      lost: found.reduce((sum, { lost }) => sum + lost, 0),
    };
  }

  #noteExit(key: string, nowMs: number): void {
    const times = (this.#exits.get(key) ?? []).slice(1 - EXITS_MAX);
    keep(this.#exits, key, [...times, nowMs]);
  }

  #noteLost(key: string, count: number, nowMs: number): void {
    const before = this.#eventsLost.get(key);
    const isRecent = before !== undefined && nowMs - before.atMs <= LOST_MS;
    keep(this.#eventsLost, key, { count: count + (isRecent ? before.count : 0), atMs: nowMs });
  }
}

/** Moves the entry to the end, and evicts the oldest one if the map is full. */
function keep<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.size > KEPT_MAX ? map.keys() : [];
  if (oldest !== undefined) map.delete(oldest);
}

function named<Value>(map: ReadonlyMap<string, Value>, countOf: (value: Value) => number) {
  const found = [...map].map(([key, value]) => ({ worker: textOf(key), count: countOf(value) }));
  return found
    .filter(({ count }) => count > 0)
    .toSorted((one, other) => other.count - one.count)
    .slice(0, NAMED_MAX);
}
