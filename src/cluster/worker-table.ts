/**
 * The workers that are known, by nodename, each with its instances. Bounded, and without a clock: a worker's state is
 * worked out for the moment it is asked for.
 */
import type { EventBase, WorkerSignal } from '../celery/event.ts';
import { createRecencyMap } from './recency-map.ts';
import { inSteps, type Steps } from './steps.ts';
import { type InstanceSurroundings, WorkerInstance } from './worker-instance.ts';

export interface WorkerSettings {
  /** Workers remembered at most; beyond it the one that was heard of longest ago is forgotten. */
  readonly workersMax: number;
  /** Without a sign of life for longer than this a worker is not up. */
  readonly workerTimeoutMs: number;
  /** A worker that is not up for longer than this is forgotten, and its gauges with it. */
  readonly seriesRetentionMs: number;
}

export interface Worker {
  readonly nodename: string;
  /** In the order in which they were first heard of; more than one after a restart, or where workers share a name. */
  instances: readonly WorkerInstance[];
  /** The queue it consumes where it is only one, told by remote control; '' otherwise. */
  onlyQueue: string;
}

/** Celery names clients `gen<pid>@<host>` (kombu and celery: utils/nodenames.py); they are no workers. */
const CLIENT = /^gen\d+@/u;
/** How long the instance before a restart may still be heard of; a broker delivers its tasks anew meanwhile. */
const LAST_WORDS_MS = 10_000;
/** Told by one survey; where there are more, what is kept of the others has bounds of its own. */
const FORGOTTEN_MAX = 100_000;
/** Workers whose words are taken to heart in one step; each is measured, some for the first time. */
const HEARD_A_STEP = 50;
const LOOKED_AT_A_STEP = 500;
/** Under one name at once; each beyond takes the place of the oldest. */
const INSTANCES_MAX = 8;

export class WorkerTable {
  readonly #settings: WorkerSettings;
  readonly #surroundings: InstanceSurroundings;
  readonly #workers = createRecencyMap<Worker>();
  /** Whose words wait to be taken to heart. */
  readonly #talkative = new Set<WorkerInstance>();
  /** Since the last survey. */
  readonly #forgotten = new Set<string>();
  #evicted = 0;

  constructor(settings: WorkerSettings, surroundings: InstanceSurroundings) {
    this.#settings = settings;
    this.#surroundings = surroundings;
  }

  get size(): number {
    return this.#workers.size();
  }

  /** Workers forgotten for lack of room. */
  get evicted(): number {
    return this.#evicted;
  }

  /** Takes what a worker says of itself. */
  signal(event: WorkerSignal, nowMs: number): void {
    const instance = this.instance(event, nowMs);
    instance.hear(event, nowMs);
    if (!instance.forgotten) this.#talkative.add(instance);
  }

  /**
   * The instance that sent something just now. Whatever it sends is a sign of life, but does not undo a goodbye: a worker
   * that shuts down in an orderly way says it first, and tells the ends of its last tasks after it.
   */
  instance({ hostname, pid, timestampMs }: EventBase, nowMs: number): WorkerInstance {
    // When it was sent, if the sender's clock can be right, so that it makes no difference how long it took.
    const seenMs = Math.min(nowMs, Math.max(timestampMs, nowMs - this.#surroundings.windowMs));
    const worker = this.#workers.use(hostname) ?? this.#newWorker(hostname);
    const known = worker?.instances.find((instance) => instance.pid === pid);
    if (known === undefined) return this.#newInstance(worker, hostname, pid, seenMs);
    if (seenMs > known.lastSeenMs || nowMs < known.lastSeenMs) known.lastSeenMs = seenMs;
    known.release(nowMs);
    return known;
  }

  /** The one queue that the worker consumes; '' where there are several, or nobody has told. */
  onlyQueue(nodename: string): string {
    return this.#workers.peek(nodename)?.onlyQueue ?? '';
  }

  /** Remote control told which queues a worker consumes. */
  consumes(nodename: string, queues: readonly string[]): void {
    const worker = this.#workers.peek(nodename);
    if (worker !== undefined) worker.onlyQueue = queues.length === 1 ? (queues[0] ?? '') : '';
  }

  /** Takes to heart what the workers said long enough ago. */
  release(nowMs: number): Steps {
    return inSteps(this.#talkative, HEARD_A_STEP, (instance) => this.#release(instance, nowMs));
  }

  /** Takes everything to heart that was said. */
  flush(): void {
    for (const worker of this.all()) for (const instance of worker.instances) instance.flush();
  }

  /** Whether what the instance runs can still come to an end; not so if it is silent, or was before its successor came. */
  isAlive(instance: WorkerInstance, nowMs: number): boolean {
    const silentMs = nowMs - instance.lastSeenMs;
    if (instance.forgotten || silentMs > this.#settings.workerTimeoutMs) return false;
    const instances = this.#workers.peek(instance.nodename)?.instances ?? [];
    return instances.at(-1) === instance || silentMs <= LAST_WORDS_MS;
  }

  /** Whether it is there to be given tasks; not so if it is silent since a successor came. */
  isUp(instance: WorkerInstance, nowMs: number): boolean {
    if (instance.offline || !this.isAlive(instance, nowMs)) return false;
    const successor = this.#workers.peek(instance.nodename)?.instances.at(-1);
    return successor === instance || instance.lastSeenMs > (successor?.firstSeenMs ?? 0);
  }

  /**
   * Lets go of instances that others have taken the place of, and of workers that are gone for too long.
   * @returns the nodenames of all workers forgotten since the last call, for whatever reason
   */
  *forgetGone(nowMs: number): Steps<readonly string[]> {
    yield* inSteps(this.all(), LOOKED_AT_A_STEP, (worker) => {
      // Another may have its name meanwhile.
      if (this.#workers.peek(worker.nodename) === worker) this.#forgetIfGone(worker, nowMs);
    });
    const forgotten = [...this.#forgotten].filter((nodename) => this.#workers.peek(nodename) === undefined);
    this.#forgotten.clear();
    return forgotten;
  }

  /** The one heard of longest ago first. */
  *all(): Generator<Worker> {
    for (const [, worker] of this.#workers.entries()) yield worker;
  }

  #newWorker(nodename: string): Worker | undefined {
    if (CLIENT.test(nodename)) return undefined;
    if (this.#workers.size() >= this.#settings.workersMax) {
      const oldest = this.#workers.takeOldest();
      if (oldest !== undefined) this.#forget(oldest);
      this.#evicted += 1;
    }
    const worker: Worker = { nodename, instances: [], onlyQueue: '' };
    this.#workers.add(nodename, worker);
    return worker;
  }

  #newInstance(worker: Worker | undefined, nodename: string, pid: number, seenMs: number): WorkerInstance {
    // One name for one worker: whoever compares two finds the very same text.
    const instance = new WorkerInstance(worker?.nodename ?? nodename, pid, this.#surroundings, seenMs);
    if (worker === undefined) {
      instance.forgotten = true;
      return instance;
    }
    const kept = worker.instances.slice(-(INSTANCES_MAX - 1));
    for (const dropped of worker.instances.slice(0, -(INSTANCES_MAX - 1))) this.#drop(dropped);
    worker.instances = [...kept, instance];
    return instance;
  }

  #release(instance: WorkerInstance, nowMs: number): void {
    instance.release(nowMs);
    if (!instance.hasMoreToSay) this.#talkative.delete(instance);
  }

  /** Since when it is not up, epoch ms; in the future while it is. */
  #goneAtMs(worker: Worker): number {
    return Math.max(
      ...worker.instances.map((instance) =>
        instance.offline ? instance.lastSeenMs : instance.lastSeenMs + this.#settings.workerTimeoutMs,
      ),
    );
  }

  #forgetIfGone(worker: Worker, nowMs: number): void {
    const last = worker.instances.at(-1);
    // Nearly every worker has one.
    if (worker.instances.length > 1) {
      worker.instances = worker.instances.filter((each) => each === last || this.isAlive(each, nowMs));
    }
    if (nowMs - this.#goneAtMs(worker) <= this.#settings.seriesRetentionMs) return;
    this.#workers.delete(worker.nodename);
    this.#forget(worker);
  }

  #drop(instance: WorkerInstance): void {
    instance.forgotten = true;
    this.#talkative.delete(instance);
  }

  #forget(worker: Worker): void {
    for (const instance of worker.instances) this.#drop(instance);
    if (this.#forgotten.size < FORGOTTEN_MAX) this.#forgotten.add(worker.nodename);
  }
}
