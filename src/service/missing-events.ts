/**
 * Finds events that a service should receive but does not: any at all, or the task events of workers that run tasks. Pure:
 * the time is an argument. Its findings are only logged; no metric depends on them.
 */
import { patienceMs, silenceMs } from '../cluster/workers/heartbeat-patience.ts';
import type { SelfEvent } from '../self/self-event.ts';
import { safeKey, textOf } from '../text/safe-key.ts';

/** The fields of a Celery event that matter here. */
export interface ReceivedEvent {
  readonly type: string;
  readonly hostname: string;
  /** From a worker’s heartbeat: how many tasks it has started, and how long it is until the next one. */
  readonly processed?: number | undefined;
  readonly freqS?: number | undefined;
}

type Kind = 'events-missing' | 'events-resumed' | 'task-events-missing' | 'task-events-resumed';

/** A self event that does not know its service and its exchange yet. */
export type Finding = {
  [K in Kind]: Omit<SelfEvent<K>, 'service' | 'exchange'>;
}[Kind];

/** One nodename. */
class Worker {
  /** From its last heartbeat since the last gap; undefined: there was none. */
  processed: number | undefined;
  /** `processed` at the last check; undefined: counting starts with the next heartbeat. */
  checkedProcessed: number | undefined;
  /** Since the last check. */
  heartbeats = 0;
  taskEvents = 0;
  startEvents = 0;
  lastEventMs = 0;
  /** Its heartbeats may be slow. */
  patienceMs = 0;
  /** It sent `worker-offline`. */
  isOffline = false;
  /**
   * Tasks started since its last task event, and for how long its heartbeats have reported any. Negative: so many starts
   * were in events already and not yet in a heartbeat.
   */
  started = 0;
  withoutEventsMs = 0;
  /** It runs tasks and has sent no task event. */
  missing = false;
}

/** More are not watched, to keep a check short. */
const WORKERS_MAX = 1000;
const NAMES_MAX = 5;
/**
 * Between two heartbeats, at most this part of the quiet period counts as evidence: a single-threaded worker sends nothing
 * while it runs a task, and its task events may arrive only afterwards.
 */
const BETWEEN_HEARTBEATS_PART = 4;
/** A worker that has been silent for this many quiet periods is forgotten. */
const FORGOTTEN_AFTER = 15;

export class MissingEvents {
  readonly #quietMs: number;
  readonly #workers = new Map<string, Worker>();
  /** Events since the last check. */
  #events = 0;
  /** Unreadable messages since the last check that saw an event. */
  #unread = 0;
  /** The last check that saw an event; the first check, until there is one. */
  #lastEventMs: number | undefined;
  #silent = false;
  /** How many workers the last `task-events-missing` reported; 0 if `task-events-resumed` followed, or none was reported. */
  #missingReported = 0;

  /** @param quietMs how long something must be missing before it is reported */
  constructor(quietMs: number) {
    this.#quietMs = quietMs;
  }

  /** Called for each event. */
  note(event: ReceivedEvent): void {
    this.#events += 1;
    let worker = this.#workers.get(safeKey(event.hostname));
    if (!event.type.startsWith('worker-')) {
      // Sent by an application, also where the worker sends no task events.
      if (worker !== undefined && event.type !== 'task-traced') {
        worker.taskEvents += 1;
        if (event.type === 'task-started') worker.startEvents += 1;
      }
      return;
    }
    if (event.processed === undefined) return;
    if (worker === undefined) {
      if (this.#workers.size >= WORKERS_MAX) return;
      worker = new Worker();
      this.#workers.set(safeKey(event.hostname), worker);
    }
    worker.processed = event.processed;
    worker.patienceMs = patienceMs(event) ?? worker.patienceMs;
    worker.isOffline = event.type === 'worker-offline';
    worker.heartbeats += 1;
  }

  /** Called for each message without a readable event. */
  noteUnreadable(): void {
    this.#unread += 1;
  }

  /** Events may have been missed: counting restarts with each worker’s next heartbeat. */
  gap(): void {
    for (const worker of this.#workers.values()) {
      worker.processed = worker.checkedProcessed = undefined;
      worker.heartbeats = worker.started = worker.withoutEventsMs = 0;
    }
  }

  /**
   * To be called every few seconds.
   * @param listenedMs how long events could have arrived so far, by a monotonic clock
   */
  check(listenedMs: number): readonly Finding[] {
    const findings = [this.#checkAny(listenedMs), this.#checkTaskEvents(listenedMs)];
    this.#events = 0;
    return findings.filter((finding) => finding !== undefined);
  }

  #checkAny(nowMs: number): Finding | undefined {
    this.#lastEventMs ??= nowMs;
    const sinceMs = nowMs - this.#lastEventMs;
    if (this.#events > 0) {
      this.#lastEventMs = nowMs;
      this.#unread = 0;
      if (!this.#silent) return undefined;
      this.#silent = false;
      return { kind: 'events-resumed', afterMs: sinceMs };
    }
    if (this.#silent || sinceMs < this.#quietMs || !this.#areOverdue(nowMs, nowMs - sinceMs))
      return undefined;
    this.#silent = true;
    return { kind: 'events-missing', forMs: sinceMs, unread: this.#unread };
  }

  /**
   * Whether at least half of the workers that were there when the last event arrived are silent for longer than they may be: one that
   * announces slow heartbeats does not speak for the others.
   */
  #areOverdue(nowMs: number, lastMs: number): boolean {
    let [present, overdue] = [0, 0];
    for (const worker of this.#workers.values()) {
      const mostMs = silenceMs(this.#quietMs, worker);
      if (worker.isOffline || lastMs - worker.lastEventMs > mostMs) continue;
      present += 1;
      if (nowMs - worker.lastEventMs >= mostMs) overdue += 1;
    }
    return 2 * overdue >= present;
  }

  #checkTaskEvents(nowMs: number): Finding | undefined {
    const named: string[] = [];
    let missing = 0;
    for (const [key, worker] of this.#workers) {
      assess(worker, nowMs, this.#quietMs);
      const forgottenAfterMs = FORGOTTEN_AFTER * silenceMs(this.#quietMs, worker);
      if (nowMs - worker.lastEventMs >= forgottenAfterMs) this.#workers.delete(key);
      else if (worker.missing) {
        missing += 1;
        if (named.length < NAMES_MAX) named.push(textOf(key));
      }
    }
    // Report again only once their number has doubled, not for each further worker.
    if (missing > 0 && missing >= 2 * this.#missingReported) {
      this.#missingReported = missing;
      return { kind: 'task-events-missing', workers: named, more: missing - named.length };
    }
    if (missing > 0 || this.#missingReported === 0) return undefined;
    this.#missingReported = 0;
    return { kind: 'task-events-resumed' };
  }
}

/** Evaluates what the worker has sent since the last check. */
function assess(worker: Worker, nowMs: number, quietMs: number): void {
  const { heartbeats, taskEvents, processed, checkedProcessed } = worker;
  if (heartbeats === 0 && taskEvents === 0) return;
  const restarted = processed === undefined || checkedProcessed === undefined || processed < checkedProcessed;
  worker.started = restarted ? 0 : worker.started + processed - checkedProcessed;
  if (taskEvents > 0 || restarted) {
    worker.started = Math.min(0, worker.started - worker.startEvents);
    worker.withoutEventsMs = 0;
    if (taskEvents > 0) worker.missing = false;
  } else if (worker.started > 0) {
    worker.withoutEventsMs += Math.min(nowMs - worker.lastEventMs, quietMs / BETWEEN_HEARTBEATS_PART);
    if (worker.withoutEventsMs >= quietMs) worker.missing = true;
  }
  worker.checkedProcessed = processed;
  worker.heartbeats = worker.taskEvents = worker.startEvents = 0;
  worker.lastEventMs = nowMs;
}
