/**
 * Interns names, and run identities, which are triples of task, queue and worker: each message has its own copy of every name,
 * but a hundred thousand tasks have a few hundred names. A full table is emptied, which costs memory but changes no result.
 */
import { safeKey } from '../text/safe-key.ts';
import { type RunIdentity, UNKNOWN } from './observation.ts';

type ByWorker = Map<string, RunIdentity>;

/** The most interned names, then the most interned identities. */
const NAMES_MAX = 20_000;
const IDENTITIES_MAX = 50_000;
/** UTF-16 units of all names together, which take 4 MB. A large cluster has a tenth of them. */
const CHARACTERS_MAX = 2_000_000;

export class Names {
  readonly #names = new Map<string, string>();
  readonly #identities = new Map<string, Map<string, ByWorker>>();
  #identityCount = 0;
  #characters = 0;

  /** The copy of the name that all equal names share. */
  intern(name: string): string {
    const known = this.#names.get(safeKey(name));
    if (known !== undefined) return known;
    if (this.#names.size >= NAMES_MAX || this.#characters + name.length > CHARACTERS_MAX) this.#reset();
    this.#names.set(safeKey(name), name);
    this.#characters += name.length;
    return name;
  }

  /** The shared object for these names, which can be the key of a Map; pass '' for an unknown task or queue. */
  identity(task: string, queue: string, worker: string): RunIdentity {
    const byQueue = this.#identities.get(safeKey(task));
    return byQueue?.get(safeKey(queue))?.get(safeKey(worker)) ?? this.#add(task, queue, worker);
  }

  #add(...given: [task: string, queue: string, worker: string]): RunIdentity {
    if (this.#identityCount >= IDENTITIES_MAX) this.#reset();
    const [task, queue, worker] = [this.intern(given[0]), this.intern(given[1]), this.intern(given[2])];
    const byQueue = this.#identities.get(safeKey(task)) ?? new Map<string, ByWorker>();
    const byWorker = byQueue.get(safeKey(queue)) ?? new Map<string, RunIdentity>();
    const identity = Object.freeze({ task: task || UNKNOWN, queue: queue || UNKNOWN, worker });
    byQueue.set(safeKey(queue), byWorker.set(safeKey(worker), identity));
    this.#identities.set(safeKey(task), byQueue);
    this.#identityCount += 1;
    return identity;
  }

  #reset(): void {
    this.#names.clear();
    this.#identities.clear();
    this.#identityCount = 0;
    this.#characters = 0;
  }
}
