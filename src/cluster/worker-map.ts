/**
 * The entries of the workers that are known, by nodename, bounded in number and in bytes: beyond either the one that was
 * heard of longest ago goes. It knows which are gone since it was last asked, and decides nothing else about a worker.
 */
import { PROCESS_BYTES } from './measured-bytes.ts';
import { createRecencyMap } from './recency-map.ts';
import { addProcess, isClient, newWorker, type Worker } from './worker.ts';
import { FORGOTTEN_MAX, FORGOTTEN_PER_WORKER, ownBytesOf, workersBytesMax } from './worker-bounds.ts';
import type { WorkerInstance } from './worker-instance.ts';

export class WorkerMap {
  readonly #max: number;
  readonly #workers = createRecencyMap<Worker>();
  /** Since they were last asked for. */
  readonly #forgotten = new Set<string>();
  readonly #forgottenMax: number;
  #bytes = 0;
  /** Of all entries at most, as estimated. */
  readonly bytesMax: number;
  #evicted = 0;

  constructor(workersMax: number) {
    this.#max = workersMax;
    this.#forgottenMax = Math.min(FORGOTTEN_MAX, FORGOTTEN_PER_WORKER * workersMax);
    this.bytesMax = workersBytesMax(workersMax);
  }

  get size(): number {
    return this.#workers.size();
  }

  /** What the entries take with their processes, as estimated: rather too much. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Workers forgotten for lack of room. */
  get evicted(): number {
    return this.#evicted;
  }

  /** The worker of that name, which has just been heard of; undefined for a client, which is none. */
  use(nodename: string): Worker | undefined {
    return this.#workers.use(nodename) ?? this.#add(nodename);
  }

  /** The worker of that name, if it is known. */
  peek(nodename: string): Worker | undefined {
    return this.#workers.peek(nodename);
  }

  /** The one heard of longest ago first. */
  all(): Iterable<Worker> {
    return this.#workers.values();
  }

  /** Adds a process of a worker; what is too much then stays until `keepBounds`. */
  addProcess(worker: Worker, instance: WorkerInstance): void {
    addProcess(worker, instance);
    this.#bytes += PROCESS_BYTES;
  }

  /** Lets go of those heard of longest ago while all take too much, but not of the last one. */
  keepBounds(): void {
    while (this.#bytes > this.bytesMax && this.size > 1) this.#evictOldest();
  }

  /** Lets go of some processes of a worker. */
  dropProcesses(worker: Worker, dropped: ReadonlySet<WorkerInstance>, why: 'retired' | 'evicted'): void {
    for (const instance of dropped) instance.drop(why);
    const left = worker.instances.filter((instance) => !dropped.has(instance));
    this.#bytes -= PROCESS_BYTES * (worker.instances.length - left.length);
    worker.instances = left;
  }

  /** The worker is gone. */
  retire(worker: Worker): void {
    this.#workers.delete(worker.nodename);
    this.#forget(worker, 'retired');
  }

  /** The nodenames of all workers that have gone since the last call, for whatever reason, and are not back. */
  takeForgotten(): readonly string[] {
    const forgotten = [...this.#forgotten].filter((nodename) => this.peek(nodename) === undefined);
    this.#forgotten.clear();
    return forgotten;
  }

  #add(nodename: string): Worker | undefined {
    if (isClient(nodename)) return undefined;
    if (this.size >= this.#max) this.#evictOldest();
    const worker = newWorker(nodename);
    this.#workers.add(nodename, worker);
    this.#bytes += ownBytesOf(worker);
    return worker;
  }

  #evictOldest(): void {
    const oldest = this.#workers.takeOldest();
    if (oldest === undefined) return;
    this.#forget(oldest, 'evicted');
    this.#evicted += 1;
  }

  #forget(worker: Worker, why: 'retired' | 'evicted'): void {
    this.dropProcesses(worker, new Set(worker.instances), why);
    this.#bytes -= ownBytesOf(worker);
    if (this.#forgotten.size < this.#forgottenMax) this.#forgotten.add(worker.nodename);
  }
}
