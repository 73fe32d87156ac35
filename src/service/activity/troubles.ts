/**
 * Troubles of one service, for health/judge.ts, which turns them into problems: recent task failures, losses, worker
 * crashes and lost events. It does not decide what is a problem. Pure and bounded: the time is an argument, namely when
 * messages arrived.
 */
import type { Observation } from '../../cluster/observation.ts';
import { safeKey, textOf } from '../../text/safe-key.ts';
import type { TaskActivity, TaskObservation, TaskReading } from './task-activity.ts';

/** How many tasks, and how many workers, a reading lists at most, for each kind of trouble. */
const LISTED_MAX = 20;
/** How many tasks, and how many workers, are tracked at most, for each kind of trouble. */
const TRACKED_MAX = 1000;
/** How many crash times are kept for each worker. */
const CRASHES_PER_WORKER_MAX = 10;
/** A crash counts for this long. */
const CRASH_COUNTS_MS = 30 * 60_000;
/** Lost events count for this long after the last of them. */
const LOST_EVENTS_COUNT_MS = 10 * 60_000;
/** For this long after its first failure ever, a task is marked as newly failing. */
const NEWLY_FAILING_MS = 60 * 60_000;
/** How long a reading is cached, since each visits all tasks with recent failures. */
const CACHED_MS = 5000;

export interface TroubledTask {
  readonly task: string;
  readonly failed: number;
  /** Runs that succeeded or failed. */
  readonly ended: number;
  readonly lost: number;
  /** Whether its first failure ever was in the last hour. */
  readonly isFirstFailure: boolean;
  readonly errors: TaskReading['errors'];
}

export interface TroublesReading {
  /** How much time the counts of tasks cover. */
  readonly spanMs: number;
  /**
   * Tasks with recent failures or losses, or whose first failure ever was in the last hour; most failures and losses
   * first.
   */
  readonly tasks: readonly TroubledTask[];
  /** All recent failures and losses, including those of tasks that are not listed. */
  readonly failed: number;
  readonly lost: number;
  /** How often each worker was replaced or restarted without `worker-offline`, in the last half hour. */
  readonly crashes: readonly { readonly worker: string; readonly count: number }[];
  /** Lost `task-started` events of each worker; workers that lost none in the last ten minutes are absent. */
  readonly eventsLost: readonly { readonly worker: string; readonly count: number }[];
}

export class Troubles {
  /** The latest times at which each worker was replaced or restarted without `worker-offline`. */
  readonly #crashTimesMs = new Map<string, number[]>();
  readonly #eventsLost = new Map<string, { count: number; atMs: number }>();
  /** Tasks that failed or lost a run recently, by name. */
  readonly #tasks = new Map<string, TaskActivity>();
  #cached: TroublesReading | undefined;
  #cachedAtMs = 0;

  observe(it: Observation, nowMs: number): void {
    if (it.kind === 'worker-exited' && (it.reason === 'replaced' || it.reason === 'restarted'))
      this.#noteCrash(safeKey(it.worker), nowMs);
    if (it.kind === 'worker-progressed' && it.eventsLost > 0)
      this.#noteEventsLost(safeKey(it.worker), it.eventsLost, nowMs);
  }

  observeTask({ kind, run }: TaskObservation, task: TaskActivity): void {
    if (kind === 'task-failed' || kind === 'task-lost') keep(this.#tasks, safeKey(run.task), task);
  }

  /**
   * Makes the next reading a new one. At the end of a recording, the last events are applied while its clock stands
   * still, so a cached reading would never become old.
   */
  refresh(): void {
    this.#cached = undefined;
  }

  /** A reading that is at most five seconds old. */
  read(nowMs: number, spanMs: number): TroublesReading {
    if (this.#cached !== undefined && Math.abs(nowMs - this.#cachedAtMs) < CACHED_MS) return this.#cached;
    this.#cachedAtMs = nowMs;
    this.#cached = {
      spanMs,
      ...this.#troubled(nowMs),
      crashes: topWorkers(
        this.#crashTimesMs,
        (timesMs) => timesMs.filter((atMs) => nowMs - atMs <= CRASH_COUNTS_MS).length,
      ),
      eventsLost: topWorkers(this.#eventsLost, ({ count, atMs }) =>
        nowMs - atMs <= LOST_EVENTS_COUNT_MS ? count : 0,
      ),
    };
    return this.#cached;
  }

  #troubled(nowMs: number): Pick<TroublesReading, 'tasks' | 'failed' | 'lost'> {
    const found = [...this.#tasks].flatMap(([key, activity]) => {
      const { firstFailedMs = Number.NEGATIVE_INFINITY, ...trouble } = activity.trouble(nowMs);
      const isFirstFailure = nowMs - firstFailedMs <= NEWLY_FAILING_MS;
      if (trouble.failed + trouble.lost > 0 || isFirstFailure) return { key, ...trouble, isFirstFailure };
      this.#tasks.delete(key);
      return [];
    });
    const tasks = found
      .toSorted((one, other) => other.failed + other.lost - (one.failed + one.lost))
      .slice(0, LISTED_MAX)
      .map(({ key, errors, ...counts }) => ({ task: textOf(key), ...counts, errors: errors() }));
    return {
      tasks,
      failed: found.reduce((sum, { failed }) => sum + failed, 0),
      lost: found.reduce((sum, { lost }) => sum + lost, 0),
    };
  }

  #noteCrash(key: string, nowMs: number): void {
    const timesMs = (this.#crashTimesMs.get(key) ?? []).slice(1 - CRASHES_PER_WORKER_MAX);
    keep(this.#crashTimesMs, key, [...timesMs, nowMs]);
  }

  #noteEventsLost(key: string, count: number, nowMs: number): void {
    const before = this.#eventsLost.get(key);
    const isRecent = before !== undefined && nowMs - before.atMs <= LOST_EVENTS_COUNT_MS;
    keep(this.#eventsLost, key, { count: count + (isRecent ? before.count : 0), atMs: nowMs });
  }
}

/** Moves the entry to the end, and evicts the oldest one if the map is full. */
function keep<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.size > TRACKED_MAX ? map.keys() : [];
  if (oldest !== undefined) map.delete(oldest);
}

function topWorkers<Value>(map: ReadonlyMap<string, Value>, countOf: (value: Value) => number) {
  const found = [...map].map(([key, value]) => ({ worker: textOf(key), count: countOf(value) }));
  return found
    .filter(({ count }) => count > 0)
    .toSorted((one, other) => other.count - one.count)
    .slice(0, LISTED_MAX);
}
