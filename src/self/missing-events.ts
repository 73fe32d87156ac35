/**
 * Which events a service should receive and does not: any at all, and the task events of workers that run tasks. Pure: the
 * time is an argument. No number depends on it; what it finds is only logged.
 */

/** What is read of a Celery event. */
export interface HeardEvent {
  readonly type: string;
  readonly hostname: string;
  /** Of a worker’s heartbeat: how many tasks it has begun. */
  readonly processed?: number | undefined;
}

export type Finding =
  /** `unread` messages came meanwhile, and not an event in them. */
  | { readonly kind: 'nothing-heard'; readonly forMs: number; readonly unread: number }
  | { readonly kind: 'heard-again'; readonly afterMs: number }
  /** Some of the workers by name, and how many more there are. */
  | {
      readonly kind: 'task-events-missing';
      readonly workers: readonly string[];
      readonly more: number;
    }
  | { readonly kind: 'task-events-again' };

/** Of one nodename. */
interface Worker {
  /** As of its last heartbeat since the gap; undefined: there was none. */
  processed: number | undefined;
  /** What was told when it was last looked at; undefined: what it has begun counts from now on. */
  seenProcessed: number | undefined;
  /** Since it was last looked at. */
  heartbeats: number;
  taskEvents: number;
  lastHeardMs: number;
  /** Tasks begun since its last task event, and for how long its heartbeats have told of such. */
  begun: number;
  withoutMs: number;
  /** It runs tasks and sends no task events; until it sends one. */
  missing: boolean;
}

/** More are not watched: a check takes its time. */
const WORKERS_MAX = 1000;
const NAMES_MAX = 5;
/**
 * A worker that sends no heartbeats gives no evidence: of the time between two no more counts than this part of the whole.
 * One of a single thread says nothing while it runs a task, and its task events may come only after it.
 */
const BETWEEN_HEARTBEATS_PART = 4;
/** A worker that has been silent for so many times the whole is forgotten. */
const FORGOTTEN_AFTER = 15;

export class MissingEvents {
  readonly #quietMs: number;
  readonly #workers = new Map<string, Worker>();
  /** Events since the last check. */
  #heard = 0;
  /** Messages of which nothing could be read, since the last check that knew of an event. */
  #unread = 0;
  /** The last check that knew of an event; the first one of all, until there is one. */
  #lastHeardMs: number | undefined;
  #silent = false;
  /** So many workers were missing when that was last told; 0: it was not, or that it is over was told since. */
  #missingTold = 0;

  /** @param quietMs for how long something must be missing before that is told */
  constructor(quietMs: number) {
    this.#quietMs = quietMs;
  }

  /** Called for each event. */
  note(event: HeardEvent): void {
    this.#heard += 1;
    let worker = this.#workers.get(event.hostname);
    if (!event.type.startsWith('worker-')) {
      if (worker !== undefined) worker.taskEvents += 1;
      return;
    }
    if (event.processed === undefined) return;
    if (worker === undefined) {
      if (this.#workers.size >= WORKERS_MAX) return;
      worker = newWorker();
      this.#workers.set(event.hostname, worker);
    }
    worker.processed = event.processed;
    worker.heartbeats += 1;
  }

  /** Called for each message that had events, and none that could be read. */
  noteUnreadable(): void {
    this.#unread += 1;
  }

  /** Events may have been missed: what workers have begun counts from their next heartbeats on. */
  gap(): void {
    for (const worker of this.#workers.values()) {
      worker.processed = worker.seenProcessed = undefined;
      worker.heartbeats = worker.begun = worker.withoutMs = 0;
    }
  }

  /**
   * To be called every few seconds.
   * @param listenedMs for how long events could arrive so far, by a monotonic clock
   */
  check(listenedMs: number): readonly Finding[] {
    const findings = [this.#lookForAny(listenedMs), this.#lookForTaskEvents(listenedMs)];
    this.#heard = 0;
    return findings.filter((finding) => finding !== undefined);
  }

  #lookForAny(nowMs: number): Finding | undefined {
    this.#lastHeardMs ??= nowMs;
    const sinceMs = nowMs - this.#lastHeardMs;
    if (this.#heard > 0) {
      this.#lastHeardMs = nowMs;
      this.#unread = 0;
      if (!this.#silent) return undefined;
      this.#silent = false;
      return { kind: 'heard-again', afterMs: sinceMs };
    }
    if (this.#silent || sinceMs < this.#quietMs) return undefined;
    this.#silent = true;
    return { kind: 'nothing-heard', forMs: sinceMs, unread: this.#unread };
  }

  #lookForTaskEvents(nowMs: number): Finding | undefined {
    const named: string[] = [];
    let missing = 0;
    for (const [nodename, worker] of this.#workers) {
      lookAt(worker, nowMs, this.#quietMs);
      if (nowMs - worker.lastHeardMs >= FORGOTTEN_AFTER * this.#quietMs) this.#workers.delete(nodename);
      else if (worker.missing) {
        missing += 1;
        if (named.length < NAMES_MAX) named.push(nodename);
      }
    }
    // One line for a few, another for many, and not one for each that comes along.
    if (missing > 0 && missing >= 2 * this.#missingTold) {
      this.#missingTold = missing;
      return { kind: 'task-events-missing', workers: named, more: missing - named.length };
    }
    if (missing > 0 || this.#missingTold === 0) return undefined;
    this.#missingTold = 0;
    return { kind: 'task-events-again' };
  }
}

function newWorker(): Worker {
  return {
    processed: undefined,
    seenProcessed: undefined,
    heartbeats: 0,
    taskEvents: 0,
    lastHeardMs: 0,
    begun: 0,
    withoutMs: 0,
    missing: false,
  };
}

/** Takes what it has sent since the last check. */
function lookAt(worker: Worker, nowMs: number, quietMs: number): void {
  const { heartbeats, taskEvents, processed, seenProcessed } = worker;
  if (heartbeats === 0 && taskEvents === 0) return;
  const restarted = processed === undefined || seenProcessed === undefined || processed < seenProcessed;
  if (taskEvents > 0 || restarted) {
    worker.begun = worker.withoutMs = 0;
    if (taskEvents > 0) worker.missing = false;
  } else {
    worker.begun += processed - seenProcessed;
    if (worker.begun > 0) {
      worker.withoutMs += Math.min(nowMs - worker.lastHeardMs, quietMs / BETWEEN_HEARTBEATS_PART);
      if (worker.withoutMs >= quietMs) worker.missing = true;
    }
  }
  worker.seenProcessed = processed;
  worker.heartbeats = worker.taskEvents = 0;
  worker.lastHeardMs = nowMs;
}
