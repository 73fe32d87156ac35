/**
 * The known workers by nodename, bounded in number and in bytes: beyond either, the least recently active one is evicted. It
 * also remembers which workers are forgotten since the last call, and decides nothing else about a worker.
 */
import { mapKey, textOf } from '../map-key.ts';
import { PROCESS_BYTES } from './measured-bytes.ts';
import { RecencyMap } from './recency-map.ts';
import { addProcess, isClient, newWorker, type Worker } from './worker.ts';
import { FORGOTTEN_MAX, FORGOTTEN_PER_WORKER, ownBytesOf, workersBytesMax } from './worker-bounds.ts';
import type { WorkerInstance } from './worker-instance.ts';

export class WorkerMap {
  readonly #max: number;
  readonly #workers = new RecencyMap<Worker>();
  /** Keys of nodenames, since the last `takeForgotten`. */
  readonly #forgotten = new Set<string>();
  readonly #forgottenMax: number;
  /** The memory of all entries with their processes, an upper estimate. */
  bytes = 0;
  /** The bound on `bytes`. */
  readonly bytesMax: number;
  /** Workers forgotten for lack of room. */
  evicted = 0;

  constructor(workersMax: number) {
    this.#max = workersMax;
    this.#forgottenMax = Math.min(FORGOTTEN_MAX, FORGOTTEN_PER_WORKER * workersMax);
    this.bytesMax = workersBytesMax(workersMax);
  }

  get size(): number {
    return this.#workers.size;
  }

  /** The worker of an event that has just arrived; undefined for a client, which is no worker. */
  use(nodename: string): Worker | undefined {
    return this.#workers.use(nodename) ?? this.#add(nodename);
  }

  /** The worker of that name, if it is known. */
  peek(nodename: string): Worker | undefined {
    return this.#workers.peek(nodename);
  }

  /** The least recently active first. */
  all(): Iterable<Worker> {
    return this.#workers.values();
  }

  /** Adds a process of a worker; the bound may be exceeded until `keepBounds`. */
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
    const left = worker.instances.filter((instance) => !dropped.has(instance));
    this.bytes -= PROCESS_BYTES * (worker.instances.length - left.length);
    worker.instances = left;
  }

  /** Forgets a worker that is gone. */
  retire(worker: Worker): void {
    this.#workers.delete(worker.nodename);
    this.#forget(worker, 'retired');
  }

  /** The nodenames of all workers forgotten since the last call, for whatever reason, that are not back. */
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
    const worker = newWorker(nodename);
    this.#workers.add(nodename, worker);
    this.bytes += ownBytesOf(worker);
    return worker;
  }

  #evictOldest(): void {
    const oldest = this.#workers.takeOldest();
    if (oldest === undefined) return;
    this.#forget(oldest, 'evicted');
    this.evicted += 1;
  }

  #forget(worker: Worker, why: 'retired' | 'evicted'): void {
    this.dropProcesses(worker, new Set(worker.instances), why);
    this.bytes -= ownBytesOf(worker);
    if (this.#forgotten.size < this.#forgottenMax) this.#forgotten.add(mapKey(worker.nodename));
  }
}
