/**
 * Tasks in the order in which they were put there. A task is in one list at a time and carries its own neighbours,
 * so that moving it costs a few writes and no memory.
 */
import type { Steps } from './steps.ts';
import type { Task } from './task.ts';

export class TaskList {
  #oldest: Task | undefined;
  #newest: Task | undefined;
  /** Where the walk under way goes on, and the first task that was put behind those it is to visit. */
  #next: Task | undefined;
  #end: Task | undefined;

  get oldest(): Task | undefined {
    return this.#oldest;
  }

  append(task: Task): void {
    task.older = this.#newest;
    task.newer = undefined;
    if (this.#newest === undefined) this.#oldest = task;
    else this.#newest.newer = task;
    this.#newest = task;
    this.#end ??= task;
  }

  remove(task: Task): void {
    if (task === this.#next) this.#next = task.newer;
    if (task === this.#end) this.#end = task.newer;
    if (task.older === undefined) this.#oldest = task.newer;
    else task.older.newer = task.newer;
    if (task.newer === undefined) this.#newest = task.older;
    else task.newer.older = task.older;
  }

  /**
   * Visits those that are in the list now, the oldest first, so many in each step; those that leave it or are appended anew
   * meanwhile are left out. A walk ends the one before.
   */
  *walk(perStep: number, visit: (task: Task) => void): Steps {
    this.#next = this.#oldest;
    this.#end = undefined;
    let left = perStep;
    while (this.#next !== undefined && this.#next !== this.#end) {
      if (left === 0) {
        yield;
        left = perStep;
        continue;
      }
      const task: Task = this.#next;
      this.#next = task.newer;
      left -= 1;
      visit(task);
    }
  }
}
