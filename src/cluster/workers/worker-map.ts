/**
 * The known workers by nodename, bounded in number and in bytes: beyond either, the least recently active one is
 * evicted. It also remembers which workers were forgotten since the last `takeForgotten`, and decides nothing else about them.
 */
import { safeKey, textOf } from '../../text/safe-key.ts';
import { PROCESS_BYTES } from '../measured-bytes.ts';
import { addProcess, Worker } from './worker.ts';
import { FORGOTTEN_MAX, FORGOTTEN_PER_WORKER, ownBytesOf, workersBytesMax } from './worker-bounds.ts';
import type { WorkerInstance } from './worker-instance.ts';

/** Celery names clients `gen<pid>@<host>` (kombu and celery: utils/nodenames.py); they are not workers. */
const CLIENT = /^gen\d+@/u;

/** Whether this is the nodename of a client that only sends tasks. */
export function isClient(nodename: string): boolean {
  return CLIENT.test(nodename);
}

export class WorkerMap {
  readonly #max: number;
  readonly #byName = new Map<string, Worker>();
  /**
   * The least and the most recently active worker, the ends of a linked list. A Map has an order too, but finding its first
   * entry walks over all deleted entries before it, which takes microseconds.
   */
  #oldest: Worker | undefined;
  #newest: Worker | undefined;
  /** `safeKey` of the nodenames that were forgotten since the last `takeForgotten`. */
  readonly #forgotten = new Set<string>();
  readonly #forgottenMax: number;
  /** The memory of all workers with their processes in bytes, an upper estimate. */
  bytes = 0;
  /** The bound on `bytes`. */
  readonly bytesMax: number;
  /** How many workers were forgotten for lack of room. */
  evicted = 0;

  constructor(workersMax: number) {
    this.#max = workersMax;
    this.#forgottenMax = Math.min(FORGOTTEN_MAX, FORGOTTEN_PER_WORKER * workersMax);
    this.bytesMax = workersBytesMax(workersMax);
  }

  get size(): number {
    return this.#byName.size;
  }

  /** The worker of an event that has just arrived; undefined for a client. */
  use(nodename: string): Worker | undefined {
    const worker = this.peek(nodename);
    if (worker === undefined) return this.#add(nodename);
    if (worker !== this.#newest) {
      this.#unlink(worker);
      this.#append(worker);
    }
    return worker;
  }

  /** The worker of that name, if it is known. */
  peek(nodename: string): Worker | undefined {
    return this.#byName.get(safeKey(nodename));
  }

  /** All workers, the least recently active first. */
  *all(): Iterable<Worker> {
    for (let worker = this.#oldest; worker !== undefined; worker = worker.newer) yield worker;
  }

  /** Adds a process to a worker; the bound may be exceeded until `keepBounds` is called. */
  addProcess(worker: Worker, instance: WorkerInstance): void {
    addProcess(worker, instance);
    this.bytes += PROCESS_BYTES;
  }

  /** Evicts the least recently active workers while all take too much memory, but never the last one. */
  keepBounds(): void {
    while (this.bytes > this.bytesMax && this.size > 1) this.#evictOldest();
  }

  /** Drops some processes of a worker. */
  dropProcesses(worker: Worker, dropped: ReadonlySet<WorkerInstance>, why: 'retired' | 'evicted'): void {
    for (const instance of dropped) {
      instance.drop(why);
      worker.droppedPid = instance.pid;
    }
    const remaining = worker.instances.filter((instance) => !dropped.has(instance));
    this.bytes -= PROCESS_BYTES * (worker.instances.length - remaining.length);
    worker.instances = remaining;
  }

  /** Forgets a worker that has left, or for which there is no room. */
  forget(worker: Worker, why: 'retired' | 'evicted'): void {
    this.#unlink(worker);
    this.#byName.delete(safeKey(worker.nodename));
    this.dropProcesses(worker, new Set(worker.instances), why);
    this.bytes -= ownBytesOf(worker);
    if (this.#forgotten.size < this.#forgottenMax) this.#forgotten.add(safeKey(worker.nodename));
  }

  /** The nodenames of all workers that were forgotten since the last call, for any reason, and are not back. */
  takeForgotten(): readonly string[] {
    const forgotten = Array.from(this.#forgotten, textOf).filter(
      (nodename) => this.peek(nodename) === undefined,
    );
    this.#forgotten.clear();
    return forgotten;
  }

  #add(nodename: string): Worker | undefined {
    if (isClient(nodename)) return undefined;
    if (this.size >= this.#max) this.#evictOldest();
    const worker = new Worker(nodename);
    this.#byName.set(safeKey(nodename), worker);
    this.#append(worker);
    this.bytes += ownBytesOf(worker);
    return worker;
  }

  #evictOldest(): void {
    if (this.#oldest === undefined) return;
    this.forget(this.#oldest, 'evicted');
    this.evicted += 1;
  }

  #unlink(worker: Worker): void {
    if (worker.older === undefined) this.#oldest = worker.newer;
    else worker.older.newer = worker.newer;
    if (worker.newer === undefined) this.#newest = worker.older;
    else worker.newer.older = worker.older;
  }

  #append(worker: Worker): void {
    worker.older = this.#newest;
    worker.newer = undefined;
    if (this.#newest === undefined) this.#oldest = worker;
    else this.#newest.newer = worker;
    this.#newest = worker;
  }
}
