/**
 * Gathers what one service shows while a check watches it: its workers’ events, the tasks in them, and what happens to the
 * connection. Bounded and pure: the time is an argument. What it means is decided elsewhere.
 */
import type { CeleryEvent, TaskSent } from '../celery/event.ts';
import { mapKey } from '../map-key.ts';
import type { ReplyOutcome, SelfEvent } from '../self/self-event.ts';

/** What the events of one worker show. */
export interface WorkerSighting {
  heartbeats: number;
  taskEvents: number;
  /** Tasks started since it booted, by its first heartbeat. */
  processed: number | undefined;
  /** Listened time of the first heartbeat with more of them, ms. */
  ranTasksAtMs: number | undefined;
  /** The least time between an event and its arrival, ms; negative if its clock is fast. */
  lagMs: number;
}

/** How often something went wrong, and the first reason. */
interface Trouble {
  count: number;
  readonly reason: string;
}

type TroubleKind =
  | 'lost'
  | 'unreachable'
  | 'refused'
  | 'blocked'
  | 'publishing'
  | 'unreadable'
  | 'polls'
  | 'asking'
  | 'replies';

const FAULTS: readonly ReplyOutcome[] = ['error', 'unreadable', 'repeated', 'too_large'];

const SETTLED_MS = 1000;
const WORKERS_MAX = 10_000;
/** Tasks that have failed, to find failures that are told twice. */
const FAILURES_MAX = 10_000;
const ETAS_MAX = 10_000;

export class Sightings {
  readonly workers = new Map<string, WorkerSighting>();
  /** Where it is connected to. */
  broker: string | undefined;
  exchange: string | undefined;
  events = 0;
  sent = 0;
  /** After the first second. */
  received = 0;
  failedTwice = 0;
  /** The furthest ETA from the arrival of its event, and the longest runtime, ms. */
  etaMs = 0;
  runtimeMs = 0;
  /** Whether the last question reached a worker, which may not have replied. */
  reachesWorkers = false;
  /** Of celery-otel, which export the service already; undefined if that is not known. */
  instances: number | undefined;
  /** Attempts to connect that have failed. */
  failedAttempts = 0;
  /** Listened time of the first event. */
  #beganMs: number | undefined;
  readonly #etas: number[] = [];
  readonly #failed = new Set<string>();
  readonly #troubles = new Map<TroubleKind, Trouble>();

  /** @param arrivedAtMs epoch ms */
  note(event: CeleryEvent, arrivedAtMs: number, listenedMs: number): void {
    this.events += 1;
    if (event.type === 'task-sent') this.sent += 1;
    this.#beganMs ??= listenedMs;
    // Earlier ones were sent before the watch began.
    if (event.type === 'task-received' && listenedMs - this.#beganMs > SETTLED_MS) this.received += 1;
    if (event.type === 'task-succeeded')
      this.runtimeMs = Math.max(this.runtimeMs, (event.runtimeS ?? 0) * 1000);
    if (event.type === 'task-failed') this.#noteFailure(event.uuid);
    const etaMs = event.type === 'task-received' ? event.etaMs : undefined;
    if (etaMs !== undefined) this.#noteEta(etaMs - arrivedAtMs);
    // Clients send these.
    if (event.type !== 'task-sent') this.#noteWorker(event, arrivedAtMs, listenedMs);
  }

  tell(event: SelfEvent): void {
    switch (event.kind) {
      case 'broker-connected':
        this.broker = event.broker;
        this.exchange = event.exchange;
        break;
      case 'broker-session-ended':
        this.failedAttempts += 1;
        if (event.end === 'lost') this.#trouble('lost', event.reason);
        else if (event.end === 'unreachable') this.#trouble('unreachable', event.reason);
        else if (event.end === 'refused' || event.end === 'unusable') this.#trouble('refused', event.reason);
        break;
      case 'publish-blocked':
        this.#trouble('blocked', event.reason);
        break;
      case 'publish-refused':
        this.#trouble('publishing', event.reason);
        break;
      case 'input-dropped':
        if (!event.intentional) this.#trouble('unreadable', event.reason, event.count);
        break;
      case 'broker-polled':
        if (event.outcome !== 'success') this.#trouble('polls', event.reason);
        break;
      case 'workers-asked':
        this.reachesWorkers = event.outcome !== 'failure' && event.receivers !== 0;
        if (event.outcome === 'failure') this.#trouble('asking', event.reason);
        else if (FAULTS.some((fault) => (event.replies[fault] ?? 0) > 0))
          this.#trouble('replies', event.reason);
        break;
      default:
    }
  }

  /** The first reason, and how often. */
  trouble(kind: TroubleKind): Readonly<Trouble> | undefined {
    return this.#troubles.get(kind);
  }

  /** How many tasks had an ETA further away than that. */
  etasBeyond(ms: number): number {
    return this.#etas.filter((etaMs) => etaMs > ms).length;
  }

  #trouble(kind: TroubleKind, reason: string, count = 1): void {
    const known = this.#troubles.get(kind);
    if (known === undefined) this.#troubles.set(kind, { count, reason });
    else known.count += count;
  }

  #noteFailure(uuid: string): void {
    if (this.#failed.has(uuid)) this.failedTwice += 1;
    else if (this.#failed.size < FAILURES_MAX) this.#failed.add(uuid);
  }

  #noteEta(etaMs: number): void {
    this.etaMs = Math.max(this.etaMs, etaMs);
    if (this.#etas.length < ETAS_MAX) this.#etas.push(etaMs);
  }

  #noteWorker(event: Exclude<CeleryEvent, TaskSent>, arrivedAtMs: number, listenedMs: number): void {
    const worker = this.#worker(event.hostname);
    if (worker === undefined) return;
    const lagMs = arrivedAtMs - (event.implausibleMs ?? event.timestampMs);
    if (Math.abs(lagMs) < Math.abs(worker.lagMs)) worker.lagMs = lagMs;
    if (!('processed' in event)) {
      worker.taskEvents += 1;
      return;
    }
    // A goodbye is the end of a worker, and not of interest here.
    if (event.type !== 'worker-offline') worker.heartbeats += 1;
    if (event.processed === undefined) return;
    worker.processed ??= event.processed;
    if (event.processed > worker.processed) worker.ranTasksAtMs ??= listenedMs;
  }

  #worker(nodename: string): WorkerSighting | undefined {
    const known = this.workers.get(mapKey(nodename));
    if (known !== undefined || this.workers.size >= WORKERS_MAX) return known;
    const worker: WorkerSighting = {
      ...{ heartbeats: 0, taskEvents: 0, lagMs: Number.POSITIVE_INFINITY },
      ...{ processed: undefined, ranTasksAtMs: undefined },
    };
    this.workers.set(mapKey(nodename), worker);
    return worker;
  }
}
