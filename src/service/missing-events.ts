/**
 * Detects that a service receives no events, or no task events of workers that run tasks. Pure: the time is an
 * argument. Its findings are only logged; no metric depends on them.
 */
import { patienceMs, silenceMs } from '../cluster/workers/heartbeat-patience.ts';
import type { SelfEvent } from '../self/self-event.ts';
import { safeKey, textOf } from '../text/safe-key.ts';

/** The fields of a Celery event that this file reads. */
export interface ReceivedEvent {
  readonly type: string;
  readonly hostname: string;
  /** Of a worker’s heartbeat: how many tasks it has started so far, and the seconds until its next heartbeat. */
  readonly processed?: number | undefined;
  readonly freqS?: number | undefined;
}

type Kind = 'events-missing' | 'events-resumed' | 'task-events-missing' | 'task-events-resumed';

/** A self event without the service and the exchange, which the caller adds. */
export type Finding = {
  [K in Kind]: Omit<SelfEvent<K>, 'service' | 'exchange'>;
}[Kind];

/** The evidence about one nodename. */
class Worker {
  /** The count of the last heartbeat; undefined if there was none since the last gap. */
  processed: number | undefined;
  /** `processed` at the last check; undefined: counting starts with the next heartbeat. */
  checkedProcessed: number | undefined;
  /** Events since the last check. */
  heartbeats = 0;
  taskEvents = 0;
  startEvents = 0;
  lastEventMs = 0;
  /** How long it may be silent, since its heartbeats may be slow. */
  patienceMs = 0;
  /** Whether it sent `worker-offline`. */
  isOffline = false;
  /**
   * How many tasks it started since its last task event, and for how long its heartbeats have reported any. A negative
   * number counts starts that were seen in events, but not yet in a heartbeat.
   */
  started = 0;
  withoutEventsMs = 0;
  /** Whether it runs tasks without sending task events. */
  isMissing = false;
}

/** How many workers are watched, to keep a check short. */
const WORKERS_MAX = 1000;
/** How many workers a finding lists. */
const NAMES_MAX = 5;
/**
 * At most this part (a quarter) of the quiet period counts as evidence between two heartbeats: a single-threaded worker
 * sends nothing while it runs a task, and its task events may arrive only afterwards.
 */
const BETWEEN_HEARTBEATS_PART = 4;
/** A worker is forgotten after this many quiet periods of silence. */
const FORGOTTEN_AFTER = 15;

export class MissingEvents {
  readonly #quietMs: number;
  readonly #workers = new Map<string, Worker>();
  /** Events of all workers since the last check. */
  #events = 0;
  /** Messages without a readable event since the last check that saw an event. */
  #unreadable = 0;
  /** When a check last saw an event; until there is one, when the first check ran. */
  #lastEventMs: number | undefined;
  #isSilent = false;
  /**
   * How many workers the last `task-events-missing` reported; 0 after `task-events-resumed`, and before the first
   * report.
   */
  #missingReported = 0;

  /** @param quietMs how long events must be missing before that is reported */
  constructor(quietMs: number) {
    this.#quietMs = quietMs;
  }

  /** Called for each event. */
  note(event: ReceivedEvent): void {
    this.#events += 1;
    let worker = this.#workers.get(safeKey(event.hostname));
    if (!event.type.startsWith('worker-')) {
      // A `task-traced` event comes from the application, even if the worker sends no task events.
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
    this.#unreadable += 1;
  }

  /** Events may have been missed: counting restarts with the next heartbeat of each worker. */
  gap(): void {
    for (const worker of this.#workers.values()) {
      worker.processed = worker.checkedProcessed = undefined;
      worker.heartbeats = worker.started = worker.withoutEventsMs = 0;
    }
  }

  /**
   * Call it every few seconds.
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
      this.#unreadable = 0;
      if (!this.#isSilent) return undefined;
      this.#isSilent = false;
      return { kind: 'events-resumed', afterMs: sinceMs };
    }
    if (this.#isSilent || sinceMs < this.#quietMs || !this.#areOverdue(nowMs, nowMs - sinceMs))
      return undefined;
    this.#isSilent = true;
    return { kind: 'events-missing', forMs: sinceMs, unread: this.#unreadable };
  }

  /**
   * Whether at least half of the workers that were present at the last event have been silent for too long. Each has
   * its own limit, so one worker with slow heartbeats does not excuse the others.
   */
  #areOverdue(nowMs: number, lastMs: number): boolean {
    let [present, overdue] = [0, 0];
    for (const worker of this.#workers.values()) {
      const silenceMaxMs = silenceMs(this.#quietMs, worker);
      if (worker.isOffline || lastMs - worker.lastEventMs > silenceMaxMs) continue;
      present += 1;
      if (nowMs - worker.lastEventMs >= silenceMaxMs) overdue += 1;
    }
    return 2 * overdue >= present;
  }

  #checkTaskEvents(nowMs: number): Finding | undefined {
    const listed: string[] = [];
    let missing = 0;
    for (const [key, worker] of this.#workers) {
      assess(worker, nowMs, this.#quietMs);
      const forgottenAfterMs = FORGOTTEN_AFTER * silenceMs(this.#quietMs, worker);
      if (nowMs - worker.lastEventMs >= forgottenAfterMs) this.#workers.delete(key);
      else if (worker.isMissing) {
        missing += 1;
        if (listed.length < NAMES_MAX) listed.push(textOf(key));
      }
    }
    // Report again only when the number has doubled, not for each further worker.
    if (missing > 0 && missing >= 2 * this.#missingReported) {
      this.#missingReported = missing;
      return { kind: 'task-events-missing', workers: listed, more: missing - listed.length };
    }
    if (missing > 0 || this.#missingReported === 0) return undefined;
    this.#missingReported = 0;
    return { kind: 'task-events-resumed' };
  }
}

/** Updates the evidence with what the worker sent since the last check. */
function assess(worker: Worker, nowMs: number, quietMs: number): void {
  const { heartbeats, taskEvents, processed, checkedProcessed } = worker;
  if (heartbeats === 0 && taskEvents === 0) return;
  const hasRestarted =
    processed === undefined || checkedProcessed === undefined || processed < checkedProcessed;
  worker.started = hasRestarted ? 0 : worker.started + processed - checkedProcessed;
  if (taskEvents > 0 || hasRestarted) {
    worker.started = Math.min(0, worker.started - worker.startEvents);
    worker.withoutEventsMs = 0;
    if (taskEvents > 0) worker.isMissing = false;
  } else if (worker.started > 0) {
    worker.withoutEventsMs += Math.min(nowMs - worker.lastEventMs, quietMs / BETWEEN_HEARTBEATS_PART);
    if (worker.withoutEventsMs >= quietMs) worker.isMissing = true;
  }
  worker.checkedProcessed = processed;
  worker.heartbeats = worker.taskEvents = worker.startEvents = 0;
  worker.lastEventMs = nowMs;
}
