/**
 * Gathers the evidence about one service during a check: events of its workers, the tasks in them, and what happens to
 * the connection. Bounded and pure: the time is an argument. `diagnose.ts` decides what it means.
 */
import type { Elsewhere } from '../broker/broker.ts';
import type { QueueDepth } from '../broker/broker-reading.ts';
import type { CeleryEvent, TaskReceived, TaskSent } from '../celery/event.ts';
import { isClient } from '../cluster/workers/worker-map.ts';
import { TOO_FAST } from '../health/judge.ts';
import { ServiceHealth } from '../health/service-health.ts';
import type { SelfEvent } from '../self/self-event.ts';
import { safeKey } from '../text/safe-key.ts';
import { SentNames } from './sent-names.ts';
import { type WorkerEvent, WorkerEvidence } from './worker-evidence.ts';

/** How many workers beyond `workersMax` are counted; only their names are kept. */
const UNWATCHED_MAX = 100_000;
const PRESENT = Number.POSITIVE_INFINITY;
/** How many failed tasks are remembered, to detect failures that are reported twice. */
const FAILURES_MAX = 10_000;

/** All evidence counts as recent, since a check takes seconds. */
const NOTED_AT_MS = 0;

export class CheckEvidence {
  /** The health that a running bridge would have. */
  readonly health = new ServiceHealth();
  /** The first workers, up to `workersMax`. Events of others are not applied to the cluster. */
  readonly workers = new Map<string, WorkerEvidence>();
  readonly workersMax: number;
  readonly #visibilityTimeoutMs: number;
  exchange: string | undefined;
  events = 0;
  sent = 0;
  readonly names = new SentNames();
  /** Tasks that were received while all queues were empty, so that a `task-sent` event should have been seen. */
  received = 0;
  failedTwice = 0;
  /** The furthest ETA, counted from the arrival of its event, and the longest runtime; both in ms. */
  etaMs = 0;
  runtimeMs = 0;
  /** How many tasks have an ETA beyond the visibility timeout. */
  etasBeyond = 0;
  /** Whether the latest command reached a worker, even if that did not reply. */
  reachesWorkers = false;
  /** Where else workers may be; only searched if no event was seen. */
  elsewhere: Elsewhere = { places: [], exchanges: [] };
  /** How many attempts to connect have failed. */
  failedAttempts = 0;
  /** Why a connection broke; undefined if none did. The service may have connected again. */
  lost: { readonly broker: string; readonly reason: string } | undefined;
  /** Whether a command could not be sent. */
  hasFailedToAsk = false;
  /** By nodename: when each of the other workers left, as `leftAfter` of {@link WorkerEvidence}. */
  readonly #unwatched = new Map<string, number>();
  /** How many workers the latest command reached; 0 if the broker does not report it. */
  #receivers = 0;
  /** How many remote control commands have ended. */
  #questions = 0;
  #hasReportedAll = false;
  #readings = 0;
  #areQueuesEmpty = false;
  #hasSeenGoodbye = false;
  readonly #failed = new Set<string>();

  /** @param visibilityTimeoutMs the setting of Redis */
  constructor(workersMax: number, visibilityTimeoutMs = Number.POSITIVE_INFINITY) {
    this.workersMax = workersMax;
    this.#visibilityTimeoutMs = visibilityTimeoutMs;
  }

  /** How many present workers are not watched because of `workersMax`; counts up to `UNWATCHED_MAX`. */
  get unwatched(): number {
    return [...this.#unwatched.values()].filter((leftAfter) => leftAfter === PRESENT).length;
  }

  /** Whether there may be more unwatched workers than are counted. */
  get isCrowded(): boolean {
    return this.#unwatched.size >= UNWATCHED_MAX;
  }

  /** At least how many workers received the latest command but have sent nothing. */
  get unseen(): number {
    const seen = [
      ...[...this.workers.values()].map(({ leftAfter }) => leftAfter),
      ...this.#unwatched.values(),
    ];
    // A worker that left before the command before the latest had ended did not receive the latest.
    const reached = seen.filter((leftAfter) => leftAfter >= this.#questions - 1).length;
    return this.isCrowded ? 0 : Math.max(0, this.#receivers - reached);
  }

  /** Whether all present workers have reported their queues. */
  get knowsConsumers(): boolean {
    const hasReported = ({ hasLeft, hasReportedQueues }: WorkerEvidence) => hasLeft || hasReportedQueues;
    return this.#hasReportedAll && this.unwatched === 0 && [...this.workers.values()].every(hasReported);
  }

  /**
   * @param arrivedAtMs epoch ms
   * @returns whether the sender is watched
   */
  note(event: CeleryEvent, arrivedAtMs: number, listenedMs: number): boolean {
    this.events += 1;
    // Neither event shows that a worker exists: clients send `task-sent`.
    if (event.type === 'task-sent' && !isOfTask(event)) this.sent += 1;
    if (event.type === 'task-sent' || event.type === 'task-received') this.names.note(event);
    if (event.type === 'task-sent' || event.type === 'task-traced') return true;
    if (event.type === 'worker-offline') this.#hasSeenGoodbye = true;
    const worker = this.#worker(event.hostname, this.#leftAfter(event));
    if (worker === undefined) return false;
    worker.note(event, arrivedAtMs, listenedMs);
    this.#noteTask(event, arrivedAtMs);
    return true;
  }

  /**
   * @param hasState whether the reply shows its state: otherwise it is not counted as a new worker
   * @returns whether the worker is watched
   */
  noteReply(nodename: string, hasState = true): boolean {
    const isKnown = hasState || this.workers.has(safeKey(nodename));
    const worker = isKnown ? this.#worker(nodename, PRESENT) : undefined;
    if (worker !== undefined) worker.hasReplied = true;
    return worker !== undefined;
  }

  /** Call it with the lengths of the queues after each poll; undefined if the broker did not report them. */
  noteDepths(queues: readonly QueueDepth[] | undefined): void {
    this.#readings += 1;
    this.names.noteReading();
    // The first poll comes before the workers have reported their queues.
    const isWhole = this.#readings > 1 && this.knowsConsumers;
    this.#areQueuesEmpty = isWhole && queues?.every(({ length }) => length === 0) === true;
  }

  report(event: SelfEvent): void {
    this.health.note(event, NOTED_AT_MS);
    switch (event.kind) {
      case 'broker-connected':
        this.exchange = event.exchange;
        break;
      case 'broker-session-ended':
        this.failedAttempts += 1;
        if (event.end === 'lost' || event.end === 'malformed') this.#noteLost(event);
        break;
      case 'input-dropped':
        if (event.reason === TOO_FAST) this.#forgetTasks();
        break;
      case 'workers-asked':
        this.#noteQuestion(event);
        break;
      default:
    }
  }

  #noteQuestion({ command, outcome, replies, receivers }: SelfEvent<'workers-asked'>): void {
    const isAsked = outcome !== 'failure';
    this.#questions += 1;
    this.#receivers = receivers ?? 0;
    this.reachesWorkers = isAsked && receivers !== 0;
    if (command === 'active_queues' || receivers === 0)
      this.#noteQueues(outcome === 'success', replies.answer ?? 0, receivers);
    if (isAsked) for (const worker of this.workers.values()) if (!worker.hasLeft) worker.questions += 1;
    this.hasFailedToAsk ||= !isAsked;
  }

  /** All queues are known if every present worker has replied and nobody else, since other replies are dropped. */
  #noteQueues(isSuccess: boolean, answers: number, receivers = 0): void {
    const present = [...this.workers.values()].filter(({ hasLeft }) => !hasLeft);
    this.#hasReportedAll = isSuccess && answers === present.length && receivers <= answers;
    for (const worker of present) worker.hasReportedQueues = this.#hasReportedAll;
  }

  #noteLost({ broker, reason }: SelfEvent<'broker-session-ended'>): void {
    this.lost ??= { broker, reason };
    this.#forgetTasks();
  }

  /** Task events may have been missed. */
  #forgetTasks(): void {
    for (const worker of this.workers.values()) worker.forgetTasks();
  }

  #noteTask(event: WorkerEvent, arrivedAtMs: number): void {
    if (event.type === 'task-received') {
      if (this.#areQueuesEmpty && !this.#hasSeenGoodbye && !isOfTask(event)) this.received += 1;
      if (event.etaMs !== undefined) this.#noteEta(event.etaMs - arrivedAtMs);
    } else if (event.type === 'task-started')
      // A later failure belongs to another run.
      this.#failed.delete(event.uuid);
    else if (event.type === 'task-succeeded')
      this.runtimeMs = Math.max(this.runtimeMs, (event.runtimeS ?? 0) * 1000);
    else if (event.type === 'task-failed') this.#noteFailure(event.uuid);
  }

  /** The end of a task may follow the `worker-offline` of its worker: it does not make the worker present again. */
  #leftAfter(event: WorkerEvent): number | undefined {
    if (event.type === 'worker-offline') return this.#questions;
    return 'processed' in event ? PRESENT : undefined;
  }

  #noteFailure(uuid: string): void {
    if (this.#failed.has(uuid)) this.failedTwice += 1;
    else if (this.#failed.size < FAILURES_MAX) this.#failed.add(uuid);
  }

  #noteEta(etaMs: number): void {
    this.etaMs = Math.max(this.etaMs, etaMs);
    if (etaMs > this.#visibilityTimeoutMs) this.etasBeyond += 1;
  }

  /**
   * @param leftAfter as in {@link WorkerEvidence}; undefined if unknown
   * @returns undefined if the worker is not watched
   */
  #worker(nodename: string, leftAfter: number | undefined): WorkerEvidence | undefined {
    if (isClient(nodename)) return undefined;
    const key = safeKey(nodename);
    let worker = this.workers.get(key);
    if (worker === undefined && this.workers.size < this.workersMax) {
      worker = new WorkerEvidence();
      this.workers.set(key, worker);
    }
    if (worker !== undefined) worker.leftAfter = leftAfter ?? worker.leftAfter;
    else if (this.#unwatched.has(key) || !this.isCrowded)
      this.#unwatched.set(key, leftAfter ?? this.#unwatched.get(key) ?? PRESENT);
    return worker;
  }
}

/** Whether the task was sent by another task, and so by a worker. */
function isOfTask({ extras }: TaskSent | TaskReceived): boolean {
  return (extras?.lineage?.parentId ?? '') !== '';
}
