/**
 * The workers that are known, by nodename, each with its processes. Bounded, and without a clock: a worker's state is
 * worked out for the moment it is asked for. Times are listened time, so that only silence that was listened to counts.
 */
import type { EventBase, WorkerSignal } from '../celery/event.ts';
import type { WorkerExit, WorkerVersion } from './observation.ts';
import { createRecencyMap } from './recency-map.ts';
import { inSteps, type Steps } from './steps.ts';
import { type Death, deathOf, goneAtMs, type Patience } from './worker-death.ts';
import { type HeldSignal, type InstanceSurroundings, WorkerInstance } from './worker-instance.ts';

export interface WorkerSettings extends Patience {
  /** Workers remembered at most; beyond it the one that was heard of longest ago is forgotten. */
  readonly workersMax: number;
}

export interface Worker {
  readonly nodename: string;
  /** In the order in which they began; more than one after a restart, or where workers share a name. */
  instances: readonly WorkerInstance[];
  /** The queue it consumes where it is only one, told by remote control; '' otherwise. */
  onlyQueue: string;
  /** That it is known was observed. */
  hasAppeared: boolean;
  /** The versions that it told of itself: first the present one, then former ones. */
  versions: readonly WorkerVersion[];
}

/** Celery names clients `gen<pid>@<host>` (kombu and celery: utils/nodenames.py); they are no workers. */
const CLIENT = /^gen\d+@/u;
/** Told by one survey; where there are more, what is kept of the others has bounds of its own. */
const FORGOTTEN_MAX = 100_000;
/** Workers of which something is observed in one step; each is measured, some for the first time. */
const HEARD_A_STEP = 50;
const LOOKED_AT_A_STEP = 500;
/** Under one name at once; each beyond takes the place of the oldest. */
const INSTANCES_MAX = 8;
/** Of one worker; each beyond takes the place of the oldest. */
const VERSIONS_MAX = 4;

export class WorkerTable {
  readonly #settings: WorkerSettings;
  readonly #surroundings: InstanceSurroundings;
  readonly #workers = createRecencyMap<Worker>();
  /** Whose words wait to be applied. */
  readonly #talkative = new Set<WorkerInstance>();
  /** Since the last survey. */
  readonly #forgotten = new Set<string>();
  #evicted = 0;
  #appliedEarly = 0;
  #session = 0;

  constructor(settings: WorkerSettings, surroundings: Pick<InstanceSurroundings, 'windowMs' | 'observe'>) {
    this.#settings = settings;
    this.#surroundings = {
      ...surroundings,
      onEarly: () => {
        this.#appliedEarly += 1;
      },
      onRestart: (instance, words) => this.#restarted(instance, words),
    };
  }

  get size(): number {
    return this.#workers.size();
  }

  /** Workers forgotten for lack of room. */
  get evicted(): number {
    return this.#evicted;
  }

  /** Words that were applied before an earlier one could have come, for lack of room. */
  get appliedEarly(): number {
    return this.#appliedEarly;
  }

  /** Connections to the broker so far, the first one being 0. */
  get session(): number {
    return this.#session;
  }

  /** Events may have been missed until now. */
  gap(): void {
    this.#session += 1;
  }

  /** Takes what a worker says of itself. */
  signal(event: WorkerSignal, wallMs: number, listenedMs: number): void {
    let instance = this.instance(event, wallMs, listenedMs);
    if (event.type === 'worker-online' && instance.isSuccessor(event))
      instance = this.#reborn(instance, event);
    instance.hear(event, listenedMs);
    if (instance.dropped === undefined) this.#talkative.add(instance);
  }

  /**
   * The process that sent something just now. Whatever it sends is a sign of life, but does not undo a goodbye: a worker
   * that shuts down in an orderly way says it first, and tells the ends of its last tasks after it.
   */
  instance({ hostname, pid, timestampMs }: EventBase, wallMs: number, listenedMs: number): WorkerInstance {
    // When it was sent, if the sender's clock can be right, so that it makes no difference how long it took.
    const latenessMs = Math.min(Math.max(0, wallMs - timestampMs), this.#surroundings.windowMs);
    const seenMs = listenedMs - latenessMs;
    const worker = this.#workers.use(hostname) ?? this.#newWorker(hostname);
    const known = worker?.instances.findLast((instance) => instance.pid === pid);
    if (known === undefined) return this.#newInstance(worker, { hostname, pid, timestampMs }, seenMs);
    const ran = known.firstToldMs <= timestampMs ? known : this.#predecessor(worker, known, timestampMs);
    ran.seen(seenMs, timestampMs, this.#session);
    ran.release(listenedMs);
    return ran;
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

  /** Applies what the workers said long enough ago. */
  release(listenedMs: number): Steps {
    return inSteps(this.#talkative, HEARD_A_STEP, (instance) => this.#release(instance, listenedMs));
  }

  /** Applies everything that was said. */
  flush(): void {
    for (const worker of this.all()) for (const instance of worker.instances) instance.flush();
  }

  /** How it is known that the process is dead, so that what it ran is lost; undefined while it may live. */
  death(instance: WorkerInstance, listenedMs: number): Death | undefined {
    const instances = this.#workers.peek(instance.nodename)?.instances ?? [];
    return deathOf(instance, instances, this.#settings, listenedMs);
  }

  /** Whether it is there to be given tasks; not so if it is silent, said goodbye, or has a successor. */
  isUp(instance: WorkerInstance, listenedMs: number): boolean {
    if (instance.offline || listenedMs - instance.lastSeenMs > this.#settings.workerTimeoutMs) return false;
    if (instance.dropped !== undefined || this.death(instance, listenedMs) !== undefined) return false;
    const newest = this.#workers.peek(instance.nodename)?.instances.at(-1);
    return newest === instance || instance.lastSeenMs > (newest?.firstSeenMs ?? 0);
  }

  /** Observes which workers have come and which processes have left since the last call, and why. */
  settle(listenedMs: number): Steps {
    return inSteps(this.all(), HEARD_A_STEP, (worker) => this.#settle(worker, listenedMs));
  }

  /**
   * Lets go of processes that are dead and of workers that are gone for too long.
   * @returns the nodenames of all workers forgotten since the last call, for whatever reason
   */
  *forgetGone(listenedMs: number): Steps<readonly string[]> {
    yield* inSteps(this.all(), LOOKED_AT_A_STEP, (worker) => {
      // Another may have its name meanwhile.
      if (this.#workers.peek(worker.nodename) === worker) this.#forgetIfGone(worker, listenedMs);
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
      if (oldest !== undefined) this.#forget(oldest, 'evicted');
      this.#evicted += 1;
    }
    const worker: Worker = { nodename, instances: [], onlyQueue: '', hasAppeared: false, versions: [] };
    this.#workers.add(nodename, worker);
    return worker;
  }

  #newInstance(
    worker: Worker | undefined,
    { hostname, pid, timestampMs }: Pick<EventBase, 'hostname' | 'pid' | 'timestampMs'>,
    seenMs: number,
  ): WorkerInstance {
    const first = { seenMs, toldMs: timestampMs, session: this.#session };
    // One name for one worker: whoever compares two finds the very same text.
    const instance = new WorkerInstance(worker?.nodename ?? hostname, pid, this.#surroundings, first);
    if (worker === undefined) {
      instance.dropped = 'evicted';
      return instance;
    }
    // A late word of a process that is gone must not seem to be its successor's.
    const at = worker.instances.findLastIndex(({ firstToldMs }) => firstToldMs <= timestampMs) + 1;
    instance.hasExited = at < worker.instances.length;
    const all = worker.instances.toSpliced(at, 0, instance);
    for (const dropped of all.slice(0, -INSTANCES_MAX)) this.#drop(dropped, 'evicted');
    worker.instances = all.slice(-INSTANCES_MAX);
    return instance;
  }

  /** Of processes with the same pid, the one that ran then; the events of its first moments may come in any order. */
  #predecessor(worker: Worker | undefined, known: WorkerInstance, timestampMs: number): WorkerInstance {
    const ran = worker?.instances.findLast(
      ({ pid, firstToldMs }) => pid === known.pid && firstToldMs <= timestampMs,
    );
    if (ran !== undefined) return ran;
    if (!worker?.instances.some(({ rebornAs }) => rebornAs === known)) known.firstToldMs = timestampMs;
    return known;
  }

  /** A process with the pid of another has greeted. */
  #reborn(instance: WorkerInstance, { hostname, pid, timestampMs }: EventBase): WorkerInstance {
    const worker = this.#workers.peek(hostname);
    if (worker === undefined) return instance;
    const successor = this.#newInstance(worker, { hostname, pid, timestampMs }, instance.lastSeenMs);
    instance.giveWayTo(successor);
    if (successor.hasMoreToSay) this.#talkative.add(successor);
    return successor;
  }

  #restarted(instance: WorkerInstance, words: readonly HeldSignal[]): void {
    const [first] = words;
    if (first === undefined || instance.dropped !== undefined) return;
    this.#reborn(instance, first.signal).takeOver(words);
  }

  #release(instance: WorkerInstance, listenedMs: number): void {
    instance.release(listenedMs);
    if (!instance.hasMoreToSay) this.#talkative.delete(instance);
  }

  #settle(worker: Worker, listenedMs: number): void {
    const { observe } = this.#surroundings;
    if (!worker.hasAppeared) observe({ kind: 'worker-appeared', worker: worker.nodename });
    worker.hasAppeared = true;
    for (const instance of worker.instances) {
      const reason = instance.hasExited ? undefined : this.#exit(instance, listenedMs);
      if (reason === undefined) continue;
      instance.hasExited = true;
      observe({ kind: 'worker-exited', worker: worker.nodename, reason });
    }
    const { version = '', system = '' } = worker.instances.at(-1) ?? {};
    const [present] = worker.versions;
    if (version === '' || (present?.version === version && present.system === system)) return;
    const former = worker.versions.filter((known) => known.version !== version || known.system !== system);
    worker.versions = [{ version, system }, ...former].slice(0, VERSIONS_MAX);
  }

  #exit(instance: WorkerInstance, listenedMs: number): WorkerExit | undefined {
    return instance.offline ? 'goodbye' : this.death(instance, listenedMs);
  }

  #forgetIfGone(worker: Worker, listenedMs: number): void {
    const last = worker.instances.at(-1);
    // Nearly every worker has one.
    if (worker.instances.length > 1) {
      const [kept, dead] = partition(
        worker.instances,
        (each) => each === last || this.death(each, listenedMs) === undefined,
      );
      worker.instances = kept;
      for (const instance of dead) this.#drop(instance, 'retired');
    }
    const goneMs = Math.max(...worker.instances.map((instance) => goneAtMs(instance, this.#settings)));
    if (listenedMs - goneMs <= this.#settings.seriesRetentionMs) return;
    this.#workers.delete(worker.nodename);
    this.#forget(worker, 'retired');
  }

  #drop(instance: WorkerInstance, why: 'retired' | 'evicted'): void {
    instance.dropped = why;
    this.#talkative.delete(instance);
  }

  #forget(worker: Worker, why: 'retired' | 'evicted'): void {
    for (const instance of worker.instances) this.#drop(instance, why);
    if (this.#forgotten.size < FORGOTTEN_MAX) this.#forgotten.add(worker.nodename);
  }
}

function partition<T>(all: readonly T[], isFirst: (one: T) => boolean): readonly [T[], T[]] {
  return [all.filter(isFirst), all.filter((one) => !isFirst(one))];
}
