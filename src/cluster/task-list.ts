/**
 * Tasks in the order in which they were put there. A task is in one list at a time and carries its own neighbours,
 * so that moving it costs a few writes and no memory.
 */
import type { Steps } from './steps.ts';
import type { Task } from './task.ts';

/** One walk under way. */
interface Walk {
  /** Where it goes on. */
  next: Task | undefined;
  /** The first task that was put behind those it is to visit. */
  end: Task | undefined;
}

export class TaskList {
  #oldest: Task | undefined;
  #newest: Task | undefined;
  #size = 0;
  #bytes = 0;
  /** Rarely any, and never many. */
  readonly #walks: Walk[] = [];
  #turn: Task | undefined;

  get oldest(): Task | undefined {
    return this.#oldest;
  }

  get size(): number {
    return this.#size;
  }

  /** What all of them weigh. */
  get bytes(): number {
    return this.#bytes;
  }

  append(task: Task): void {
    this.#add(task);
    task.older = this.#newest;
    task.newer = undefined;
    if (this.#newest === undefined) this.#oldest = task;
    else this.#newest.newer = task;
    this.#newest = task;
    for (const walk of this.#walks) walk.end ??= task;
  }

  /** Puts it before all others. A walk under way leaves it out. */
  prepend(task: Task): void {
    this.#add(task);
    task.older = undefined;
    task.newer = this.#oldest;
    if (this.#oldest === undefined) this.#newest = task;
    else this.#oldest.older = task;
    this.#oldest = task;
  }

  remove(task: Task): void {
    this.#size -= 1;
    this.#bytes -= task.weight;
    for (const walk of this.#walks) {
      if (task === walk.next) walk.next = task.newer;
      if (task === walk.end) walk.end = task.newer;
    }
    if (task === this.#turn) this.#turn = task.newer;
    if (task.older === undefined) this.#oldest = task.newer;
    else task.older.newer = task.newer;
    if (task.newer === undefined) this.#newest = task.older;
    else task.newer.older = task.older;
  }

  /** Says what a task of the list weighs. */
  weigh(task: Task, weight: number): void {
    this.#bytes += weight - task.weight;
    task.weight = weight;
  }

  /** One of them with each call, from the oldest to the newest, again and again. */
  takeTurn(): Task | undefined {
    const task = this.#turn ?? this.#oldest;
    this.#turn = task?.newer;
    return task;
  }

  #add(task: Task): void {
    this.#size += 1;
    this.#bytes += task.weight;
  }

  /**
   * Visits those that are in the list now, the oldest first, so many in each step; those that leave it or are appended anew
   * meanwhile are left out. There may be several walks at a time; one that is not finished is to be closed with `return()`.
   */
  *walk(perStep: number, visit: (task: Task) => void): Steps {
    const walk: Walk = { next: this.#oldest, end: undefined };
    this.#walks.push(walk);
    try {
      let left = perStep;
      while (walk.next !== undefined && walk.next !== walk.end) {
        if (left === 0) {
          yield;
          left = perStep;
          continue;
        }
        const task: Task = walk.next;
        walk.next = task.newer;
        left -= 1;
        visit(task);
      }
    } finally {
      this.#walks.splice(this.#walks.indexOf(walk), 1);
    }
  }
}
