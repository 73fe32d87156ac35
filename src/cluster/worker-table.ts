/**
 * The workers that are known, by nodename, each with its processes. Bounded, and without a clock: a worker's state is
 * worked out for the moment it is asked for. Times are listened time, so that only silence that was listened to counts.
 */
import type { EventBase, WorkerSignal } from '../celery/event.ts';
import { HeldWord, HeldWords, type KeptTexts } from './held-words.ts';
import { Names } from './names.ts';
import { inSteps, type Steps } from './steps.ts';
import type { Restart } from './stray-words.ts';
import { noteVersion, processOf, reorder, type Worker } from './worker.ts';
import { WORD_BYTES, wordsMax } from './worker-bounds.ts';
import { type Death, deathOf, goneAtMs, isUp, type Patience } from './worker-death.ts';
import { type InstanceSurroundings, WorkerInstance } from './worker-instance.ts';
import { WorkerMap } from './worker-map.ts';

export interface WorkerSettings extends Patience {
  /** Workers remembered at most, and bytes for as many; beyond it the one that was heard of longest ago is forgotten. */
  readonly workersMax: number;
}

/** Each is measured, some for the first time. */
const SETTLED_A_STEP = 50;
const LOOKED_AT_A_STEP = 500;
/** Names that are heard once, in a flood, are not worth series of their own. */
const APPEARED_AFTER_MS = 10_000;
/** Under one name at once; each beyond takes the place of the oldest. */
const INSTANCES_MAX = 8;

export class WorkerTable {
  readonly #settings: WorkerSettings;
  readonly #surroundings: InstanceSurroundings;
  readonly #workers: WorkerMap;
  readonly #words: HeldWords;
  /** Versions and systems. */
  readonly #texts = new Names();
  #appliedEarly = 0;
  #instancesEvicted = 0;
  #session = 0;

  constructor(settings: WorkerSettings, surroundings: Pick<InstanceSurroundings, 'windowMs' | 'observe'>) {
    const { workersMax, windowMs } = settings;
    this.#settings = settings;
    this.#words = new HeldWords(windowMs, wordsMax(workersMax, windowMs));
    this.#workers = new WorkerMap(workersMax);
    this.#surroundings = {
      ...surroundings,
      onEarly: () => {
        this.#appliedEarly += 1;
      },
      onRestart: (instance, restart) => this.#restarted(instance, restart),
    };
  }

  get size(): number {
    return this.#workers.size;
  }

  /** Workers forgotten for lack of room. */
  get evicted(): number {
    return this.#workers.evicted;
  }

  /** What the workers, their processes and what is held back of them take at most, as estimated: never too little. */
  get bytes(): number {
    return this.#workers.bytes + this.#words.size * WORD_BYTES;
  }

  /** Beyond it workers are forgotten as beyond their number. */
  get bytesMax(): number {
    return this.#workers.bytesMax + this.#words.max * WORD_BYTES;
  }

  /** Words that were applied early, and processes that were let go of, for lack of room under one name. */
  get beyondFixedBounds(): number {
    return this.#appliedEarly + this.#words.appliedEarly + this.#instancesEvicted;
  }

  /** Connections to the broker so far, from 0. */
  get session(): number {
    return this.#session;
  }

  /** Events may have been missed until now. */
  gap(): void {
    this.#session += 1;
  }

  /** Takes what a worker says of itself. */
  signal(event: WorkerSignal, wallMs: number, listenedMs: number): void {
    const worker = this.#workers.use(event.hostname);
    if (worker === undefined) return;
    const lateMs = Math.max(0, wallMs - event.timestampMs);
    const coming = { arrivedAtMs: listenedMs, spokeMs: listenedMs - lateMs, session: this.#session };
    const word = new HeldWord(event, this.#textsOf(event), coming);
    const known = processOf(worker, event.pid);
    const isReborn = event.type === 'worker-online' && known?.isSuccessor(word, this.#session) === true;
    const instance =
      known !== undefined && isReborn
        ? this.#reborn(worker, known, word)
        : this.#seen(worker, known, event, lateMs, listenedMs);
    if (instance.dropped !== undefined) return;
    instance.hear(word);
    this.#words.add(word);
  }

  /**
   * The process that sent something just now. Whatever it sends is a sign of life, but does not undo a goodbye: a worker
   * that shuts down in an orderly way says it first, and tells the ends of its last tasks after it.
   */
  instance(event: EventBase, wallMs: number, listenedMs: number): WorkerInstance {
    const worker = this.#workers.use(event.hostname);
    const known = worker && processOf(worker, event.pid);
    return this.#seen(worker, known, event, Math.max(0, wallMs - event.timestampMs), listenedMs);
  }

  /** The one queue that the worker consumes; '' where there are several, or nobody has told. */
  onlyQueue(nodename: string): string {
    return this.#workers.peek(nodename)?.onlyQueue ?? '';
  }

  /** The worker of that name, if it is known. */
  peek(nodename: string): Worker | undefined {
    return this.#workers.peek(nodename);
  }

  /**
   * Applies what the workers said long enough ago.
   * @param max words at most
   * @returns whether there are more of them
   */
  release(listenedMs: number, max: number): boolean {
    return this.#words.release(listenedMs, max);
  }

  /** Applies everything that was said. */
  flush(): void {
    this.#words.release(Number.POSITIVE_INFINITY);
  }

  /** How it is known that the process is dead, so that what it ran is lost; undefined while it may live. */
  death(instance: WorkerInstance, listenedMs: number): Death | undefined {
    const siblings = this.#workers.peek(instance.nodename)?.instances ?? [];
    return deathOf(instance, siblings, this.#settings, listenedMs);
  }

  /** Whether that process of the worker is there to be given tasks. */
  isUp({ instances }: Worker, instance: WorkerInstance, listenedMs: number): boolean {
    return isUp(instance, instances, this.#settings, listenedMs);
  }

  /** Observes which workers have come and which processes have left since the last call, and why. */
  settle(listenedMs: number): Steps {
    return this.#eachKnown(SETTLED_A_STEP, (worker) => this.#settle(worker, listenedMs));
  }

  /**
   * Lets go of processes that are dead and of workers that are gone for too long.
   * @returns the nodenames of all workers forgotten since the last call, for whatever reason
   */
  *forgetGone(listenedMs: number): Steps<readonly string[]> {
    yield* this.#eachKnown(LOOKED_AT_A_STEP, (worker) => this.#forgetIfGone(worker, listenedMs));
    return this.#workers.takeForgotten();
  }

  /** The one heard of longest ago first. */
  all(): Iterable<Worker> {
    return this.#workers.all();
  }

  /** Not those that were evicted between two steps; another may have the name meanwhile. */
  #eachKnown(perStep: number, act: (worker: Worker) => void): Steps {
    return inSteps(this.all(), perStep, (worker) => {
      if (this.#workers.peek(worker.nodename) === worker) act(worker);
    });
  }

  #seen(
    worker: Worker | undefined,
    known: WorkerInstance | undefined,
    event: EventBase,
    lateMs: number,
    listenedMs: number,
  ): WorkerInstance {
    // When it was sent, if the sender's clock can be right, so that it makes no difference how long it took.
    const seenMs = listenedMs - Math.min(lateMs, this.#settings.windowMs);
    if (known === undefined) return this.#newInstance(worker, event, seenMs, listenedMs - lateMs);
    known.seen(event, seenMs, this.#session);
    if (worker !== undefined) reorder(worker, known, listenedMs);
    return known;
  }

  #newInstance(
    worker: Worker | undefined,
    { hostname, pid, clock, timestampMs, implausibleMs: toldMs = timestampMs }: EventBase,
    seenMs: number,
    spokeMs: number,
    place = 1,
  ): WorkerInstance {
    const first = { seenMs, spokeMs, clock, toldMs, place, session: this.#session };
    // One name for one worker: whoever compares two finds the very same text.
    const instance = new WorkerInstance(worker?.nodename ?? hostname, pid, this.#surroundings, first);
    if (worker === undefined) {
      instance.drop('evicted');
      return instance;
    }
    this.#workers.addProcess(worker, instance);
    this.#makeRoom(worker, seenMs);
    this.#workers.keepBounds();
    return instance;
  }

  /** Of too many processes under one name the oldest goes. */
  #makeRoom(worker: Worker, listenedMs: number): void {
    const [oldest] = worker.instances;
    if (oldest === undefined || worker.instances.length <= INSTANCES_MAX) return;
    oldest.flush();
    this.#settle(worker, listenedMs);
    const isDead = this.death(oldest, listenedMs) !== undefined;
    if (!isDead) this.#instancesEvicted += 1;
    this.#workers.dropProcesses(worker, new Set([oldest]), isDead ? 'retired' : 'evicted');
  }

  /** @param first the first word of the new process that came */
  #reborn(worker: Worker, instance: WorkerInstance, first: HeldWord): WorkerInstance {
    const seenMs = Math.max(first.spokeMs, first.arrivedAtMs - this.#settings.windowMs);
    // It comes after the other, however its clock was set.
    const spokeMs = Math.max(first.spokeMs, instance.firstSpokeMs);
    // A greeting is the event that has just come.
    const lastPlace = instance.arrivals.last + (first.place === 0 ? 1 : 0);
    const { clock, timestampMs, implausibleMs } = first;
    const event = { hostname: worker.nodename, pid: instance.pid, clock, timestampMs, implausibleMs };
    const successor = this.#newInstance(worker, event, seenMs, spokeMs, lastPlace);
    instance.giveWayTo(successor, first.place || lastPlace);
    return successor;
  }

  #restarted(instance: WorkerInstance, restart: Restart): void {
    const worker = this.#workers.peek(instance.nodename);
    if (worker === undefined || instance.dropped !== undefined || instance.rebornAs !== undefined) return;
    // It is about to be let go of for lack of room, and what it still says makes no room.
    if (worker.instances.length > INSTANCES_MAX && worker.instances[0] === instance) return;
    this.#reborn(worker, instance, restart.first).takeOver(restart.words);
  }

  #settle(worker: Worker, listenedMs: number): void {
    const { observe } = this.#surroundings;
    const knownMs = listenedMs - (worker.instances[0]?.firstSeenMs ?? listenedMs);
    if (!worker.hasAppeared && knownMs >= APPEARED_AFTER_MS) {
      worker.hasAppeared = true;
      observe({ kind: 'worker-appeared', worker: worker.nodename });
    }
    for (const instance of worker.instances) {
      if (instance.hasExited) continue;
      const reason = instance.isOffline(listenedMs)
        ? 'goodbye'
        : deathOf(instance, worker.instances, this.#settings, listenedMs);
      if (reason === undefined) continue;
      instance.hasExited = true;
      observe({ kind: 'worker-exited', worker: worker.nodename, reason });
    }
    noteVersion(worker);
  }

  #forgetIfGone(worker: Worker, listenedMs: number): void {
    const last = worker.instances.at(-1);
    // Nearly every worker has one.
    if (worker.instances.length > 1) {
      const isDead = (each: WorkerInstance): boolean =>
        each !== last && this.death(each, listenedMs) !== undefined;
      const dead = new Set(worker.instances.filter(isDead));
      this.#workers.dropProcesses(worker, dead, 'retired');
    }
    let goneMs = Number.NEGATIVE_INFINITY;
    for (const each of worker.instances)
      goneMs = Math.max(goneMs, goneAtMs(each, this.#settings, listenedMs));
    if (listenedMs - goneMs > this.#settings.seriesRetentionMs) this.#workers.retire(worker);
  }

  /** They are kept once. */
  #textsOf({ softwareVersion, softwareSystem }: KeptTexts): KeptTexts {
    return {
      softwareVersion: this.#texts.intern(softwareVersion),
      softwareSystem: this.#texts.intern(softwareSystem),
    };
  }
}
