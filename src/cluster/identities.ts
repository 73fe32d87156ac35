/**
 * The identities that observations are of: one object for each task, queue and worker, however many runs have it. So a
 * name is in memory once, and whoever keeps something for an identity finds it by the object. Bounded: it starts anew.
 */
import { type RunIdentity, UNKNOWN } from './observation.ts';

type ByWorker = Map<string, RunIdentity>;

const IDENTITIES_MAX = 10_000;
/** UTF-16 units in the names of all of them: 3 MB. */
const CHARACTERS_MAX = 1_500_000;

export class Identities {
  readonly #byTask = new Map<string, Map<string, ByWorker>>();
  #size = 0;
  #characters = 0;

  /** @param task and @param queue are '' where they are not known */
  of(task: string, queue: string, worker: string): RunIdentity {
    return this.#byTask.get(task)?.get(queue)?.get(worker) ?? this.#add(task, queue, worker);
  }

  #add(task: string, queue: string, worker: string): RunIdentity {
    const characters = task.length + queue.length + worker.length;
    if (this.#size >= IDENTITIES_MAX || this.#characters + characters > CHARACTERS_MAX) {
      this.#byTask.clear();
      this.#size = 0;
      this.#characters = 0;
    }
    const byQueue = this.#byTask.get(task) ?? new Map<string, ByWorker>();
    const byWorker = byQueue.get(queue) ?? new Map<string, RunIdentity>();
    const identity = Object.freeze({ task: task || UNKNOWN, queue: queue || UNKNOWN, worker });
    this.#byTask.set(task, byQueue.set(queue, byWorker.set(worker, identity)));
    this.#size += 1;
    this.#characters += characters;
    return identity;
  }
}
