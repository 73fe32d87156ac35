/**
 * Tasks in the order in which they were put there. A task is in one list at a time and carries its own neighbours,
 * so that moving it costs a few writes and no memory.
 */
import type { Task } from './task.ts';

export class TaskList {
  #oldest: Task | undefined;
  #newest: Task | undefined;

  get oldest(): Task | undefined {
    return this.#oldest;
  }

  append(task: Task): void {
    task.older = this.#newest;
    task.newer = undefined;
    if (this.#newest === undefined) this.#oldest = task;
    else this.#newest.newer = task;
    this.#newest = task;
  }

  remove(task: Task): void {
    if (task.older === undefined) this.#oldest = task.newer;
    else task.older.newer = task.newer;
    if (task.newer === undefined) this.#newest = task.older;
    else task.newer.older = task.older;
  }

  /** The oldest first; what is returned may leave the list meanwhile. */
  *[Symbol.iterator](): Generator<Task> {
    let task = this.#oldest;
    while (task !== undefined) {
      const next: Task | undefined = task.newer;
      yield task;
      task = next;
    }
  }
}
