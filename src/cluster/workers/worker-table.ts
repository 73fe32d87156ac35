/**
 * The known workers by nodename, each with its processes. Bounded. It has no clock: whether a worker is up is derived for the
 * given moment. Times are listened time, so that silence counts only while events can arrive. It counts no tasks.
 */
import type { EventBase, WorkerSignal } from '../../celery/event.ts';
import { Names } from '../names.ts';
import { inSteps, type Steps } from '../steps.ts';
import type { WorkerTaskEvent } from '../tasks/task.ts';
import { HeldWorkerEvent, HeldWorkerEvents } from '../window/held-worker-events.ts';
import { delayMs } from '../window/lateness.ts';
import type { InstanceContext } from './instance-context.ts';
import type { Restart } from './stray-events.ts';
import { noteVersion, processOf, share, type Worker } from './worker.ts';
import { WORKER_EVENT_BYTES, workerEventsMax } from './worker-bounds.ts';
import { type Death, deathOf, goneAtMs, isUp, type Timeouts } from './worker-death.ts';
import { WorkerInstance } from './worker-instance.ts';
import { WorkerMap } from './worker-map.ts';

export interface WorkerSettings extends Timeouts {
  /** The most workers to keep, which also bounds their bytes; beyond it, the least recently active worker is evicted. */
  readonly workersMax: number;
}

/** Workers that are settled per step: the memory of each may be measured. Then workers that are only read per step. */
const SETTLED_PER_STEP = 50;
const READ_PER_STEP = 500;
/** A worker gets series once it has been known for this many ms: in a flood, names that occur only once get none. */
const APPEARED_AFTER_MS = 10_000;
/** The most processes under one nodename; each further one evicts the oldest. */
const INSTANCES_MAX = 8;

export class WorkerTable {
  readonly #settings: WorkerSettings;
  readonly #context: InstanceContext<WorkerInstance>;
  readonly #workers: WorkerMap;
  readonly #events: HeldWorkerEvents;
  /** Interns versions and operating systems. */
  readonly #texts = new Names();
  /** How many events came after a later one of their process had been applied early. */
  #disordered = 0;
  #instancesEvicted = 0;
  /** The number of the current broker connection: events may have been missed before each new one. */
  session = 0;

  constructor(
    settings: WorkerSettings,
    context: Pick<InstanceContext<WorkerInstance>, 'windowMs' | 'observe'>,
  ) {
    const { workersMax, windowMs } = settings;
    this.#settings = settings;
    this.#events = new HeldWorkerEvents(windowMs, workerEventsMax(workersMax, windowMs));
    this.#workers = new WorkerMap(workersMax);
    this.#context = {
      ...context,
      lostTimeoutMs: settings.lostTimeoutMs,
      onDisorder: () => {
        this.#disordered += 1;
      },
      onRestart: (instance, restart) => this.#restarted(instance, restart),
    };
  }

  get size(): number {
    return this.#workers.size;
  }

  /** How many workers were forgotten for lack of room. */
  get evicted(): number {
    return this.#workers.evicted;
  }

  /** The memory of workers, processes and held events in bytes, an upper estimate. */
  get bytes(): number {
    return this.#workers.bytes + this.#events.size * WORKER_EVENT_BYTES;
  }

  /** The bound on `bytes`. */
  get bytesMax(): number {
    return this.#workers.bytesMax + this.#events.max * WORKER_EVENT_BYTES;
  }

  /** How many events were applied early or out of order, and how many processes were evicted, for lack of room. */
  get beyondFixedBounds(): number {
    return this.#disordered + this.#events.appliedEarly + this.#instancesEvicted;
  }

  /** Takes a worker event that has just arrived. */
  signal(event: WorkerSignal, steadyMs: number, listenedMs: number): void {
    const worker = this.#workers.use(event.hostname);
    if (worker === undefined) return;
    const seenMs = listenedMs - delayMs(event, steadyMs, this.#settings.windowMs);
    const arrival = { arrivedAtMs: listenedMs, seenMs, session: this.session };
    const held = new HeldWorkerEvent(event, this.#texts, arrival);
    const known = processOf(worker, event.pid);
    const isShared = worker.rhythms.add(event, listenedMs);
    if (known !== undefined && known.isShared !== isShared) share(worker, event.pid, isShared);
    const hasRestarted =
      !isShared && event.type === 'worker-online' && known?.isSuccessor(held, this.session) === true;
    const instance =
      known !== undefined && hasRestarted
        ? this.#replace(worker, known, held)
        : this.#seen(worker, known, event, seenMs);
    if (instance.dropped !== undefined) return;
    instance.hold(held, event.freqS);
    this.#events.add(held);
  }

  /**
   * The process of an event that has just arrived. Any event is a sign of life, but does not undo a `worker-offline`: in a
   * warm shutdown it comes first, and the ends of the last tasks follow.
   */
  instance(event: WorkerTaskEvent, steadyMs: number, listenedMs: number): WorkerInstance {
    const worker = this.#workers.use(event.hostname);
    const known = worker && processOf(worker, event.pid);
    const seenMs = listenedMs - delayMs(event, steadyMs, this.#settings.windowMs);
    const instance = this.#seen(worker, known, event, seenMs);
    if (event.type === 'task-received') instance.receivedMs = Math.max(instance.receivedMs, seenMs);
    return instance;
  }

  /**
   * The process that has just replied to a command, which is a sign of life; undefined for a client.
   * @param wallMs the current time, epoch ms
   */
  answered(nodename: string, pid: number, wallMs: number, listenedMs: number): WorkerInstance | undefined {
    const worker = this.#workers.use(nodename);
    if (worker === undefined) return undefined;
    const known = processOf(worker, pid);
    known?.noteAlive(listenedMs, this.session);
    const event = { hostname: nodename, pid, clock: -1, timestampMs: wallMs, implausibleMs: undefined };
    return known ?? this.#newInstance(worker, event, listenedMs);
  }

  /** The worker of that name, if it is known. */
  peek(nodename: string): Worker | undefined {
    return this.#workers.peek(nodename);
  }

  /**
   * Applies the worker events that are due.
   * @param max the most events to apply
   * @returns whether more are due
   */
  release(listenedMs: number, max: number): boolean {
    return this.#events.release(listenedMs, max);
  }

  /** Applies all held events. */
  flush(): void {
    this.#events.release(Number.POSITIVE_INFINITY);
  }

  /** Why the process is known to be dead, so that its tasks are lost; undefined while it may be alive. */
  death(instance: WorkerInstance, listenedMs: number): Death | undefined {
    const siblings = this.#workers.peek(instance.nodename)?.instances ?? [];
    return deathOf(instance, siblings, this.#settings, listenedMs);
  }

  /** Whether that process of the worker can take tasks. */
  isUp({ instances }: Worker, instance: WorkerInstance, listenedMs: number): boolean {
    return isUp(instance, instances, this.#settings, listenedMs);
  }

  /** The processes of all workers that are up. */
  *up(listenedMs: number): Steps<readonly WorkerInstance[]> {
    const up: WorkerInstance[] = [];
    yield* this.#eachKnown(READ_PER_STEP, (worker) => {
      for (const instance of worker.instances) if (this.isUp(worker, instance, listenedMs)) up.push(instance);
    });
    return up;
  }

  /** Observes which workers have appeared, which processes have exited and why, and which workers have returned. */
  settle(listenedMs: number): Steps {
    return this.#eachKnown(SETTLED_PER_STEP, (worker) => this.#settle(worker, listenedMs));
  }

  /**
   * Drops processes that are dead, and forgets workers that have been gone for too long.
   * @returns the nodenames of all workers forgotten since the last call, for any reason
   */
  *forgetGone(listenedMs: number): Steps<readonly string[]> {
    yield* this.#eachKnown(READ_PER_STEP, (worker) => this.#forgetIfGone(worker, listenedMs));
    return this.#workers.takeForgotten();
  }

  /** All workers, the least recently active first. */
  all(): Iterable<Worker> {
    return this.#workers.all();
  }

  /** Calls `act` for each worker in steps, except for workers that were evicted since the first step. */
  #eachKnown(perStep: number, act: (worker: Worker) => void): Steps {
    return inSteps(this.all(), perStep, (worker) => {
      if (this.#workers.peek(worker.nodename) === worker) act(worker);
    });
  }

  /** The process of an event, which is a sign of life of it. */
  #seen(
    worker: Worker | undefined,
    known: WorkerInstance | undefined,
    event: EventBase,
    seenMs: number,
  ): WorkerInstance {
    if (known === undefined) return this.#newInstance(worker, event, seenMs);
    known.seen(event, seenMs, this.session);
    return known;
  }

  #newInstance(
    worker: Worker | undefined,
    { hostname, pid, clock, timestampMs, implausibleMs }: EventBase,
    seenMs: number,
    place = 1,
  ): WorkerInstance {
    const reportedMs = implausibleMs ?? timestampMs;
    const first = { seenMs, clock, reportedMs, place, session: this.session };
    // All processes share the string of the worker, so that names compare fast.
    const instance = new WorkerInstance(worker?.nodename ?? hostname, pid, this.#context, first);
    if (implausibleMs !== undefined) instance.arrivals.lastReportedMs = Number.NaN;
    if (worker === undefined) {
      instance.drop('evicted');
      return instance;
    }
    this.#workers.addProcess(worker, instance);
    this.#makeRoom(worker, seenMs);
    this.#workers.keepBounds();
    return instance;
  }

  /** Evicts the oldest of too many processes under one name. */
  #makeRoom(worker: Worker, listenedMs: number): void {
    const [oldest] = worker.instances;
    if (oldest === undefined || worker.instances.length <= INSTANCES_MAX) return;
    oldest.flush();
    this.#settle(worker, listenedMs);
    const isDead = this.death(oldest, listenedMs) !== undefined;
    if (!isDead) this.#instancesEvicted += 1;
    this.#workers.dropProcesses(worker, new Set([oldest]), isDead ? 'retired' : 'evicted');
  }

  /** Adds the process that has replaced another one with the same pid. @param first the first event of the new process */
  #replace(worker: Worker, instance: WorkerInstance, first: HeldWorkerEvent): WorkerInstance {
    // A `worker-online` has just arrived, and has no place yet.
    const lastPlace = instance.arrivals.last + (first.place === 0 ? 1 : 0);
    const { clock, timestampMs, implausibleMs } = first;
    const event = { hostname: worker.nodename, pid: instance.pid, clock, timestampMs, implausibleMs };
    const successor = this.#newInstance(worker, event, first.seenMs, lastPlace);
    instance.replaceBy(successor, first.place || lastPlace);
    return successor;
  }

  /** Replaces a process after its stray events have proved that it restarted. */
  #restarted(instance: WorkerInstance, restart: Restart): void {
    if (instance.isShared) return;
    const worker = this.#workers.peek(instance.nodename);
    if (worker === undefined || instance.dropped !== undefined || instance.restartedAs !== undefined) return;
    // The oldest of too many processes is about to be evicted, so its events must not add another one.
    if (worker.instances.length > INSTANCES_MAX && worker.instances[0] === instance) return;
    this.#replace(worker, instance, restart.first).applyAll(restart.events);
  }

  #settle(worker: Worker, listenedMs: number): void {
    const { observe } = this.#context;
    const knownMs = listenedMs - (worker.instances[0]?.firstSeenMs ?? listenedMs);
    if (knownMs >= APPEARED_AFTER_MS) this.#appear(worker);
    for (const instance of worker.instances) {
      if (instance.hasExited) continue;
      const reason = instance.isOffline(listenedMs)
        ? 'goodbye'
        : deathOf(instance, worker.instances, this.#settings, listenedMs);
      if (reason === undefined) continue;
      // A worker must appear before it exits.
      this.#appear(worker);
      instance.hasExited = true;
      worker.hasLeft = true;
      observe({ kind: 'worker-exited', worker: worker.nodename, reason });
    }
    if (worker.hasLeft && worker.instances.some(({ hasExited }) => !hasExited)) {
      worker.hasLeft = false;
      observe({ kind: 'worker-returned', worker: worker.nodename });
    }
    noteVersion(worker);
  }

  #appear(worker: Worker): void {
    if (worker.hasAppeared) return;
    worker.hasAppeared = true;
    this.#context.observe({ kind: 'worker-appeared', worker: worker.nodename });
  }

  #forgetIfGone(worker: Worker, listenedMs: number): void {
    const last = worker.instances.at(-1);
    // Nearly every worker has only one.
    if (worker.instances.length > 1) {
      const isDead = (each: WorkerInstance): boolean =>
        each !== last && this.death(each, listenedMs) !== undefined;
      const dead = new Set(worker.instances.filter(isDead));
      this.#workers.dropProcesses(worker, dead, 'retired');
    }
    let goneMs = Number.NEGATIVE_INFINITY;
    for (const each of worker.instances)
      goneMs = Math.max(goneMs, goneAtMs(each, this.#settings, listenedMs));
    if (listenedMs - goneMs > this.#settings.seriesRetentionMs) this.#workers.forget(worker, 'retired');
  }
}
