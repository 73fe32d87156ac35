/**
 * A linked list of tasks in the order in which they were added. A task is in one list at a time and holds its own links, so
 * moving it costs a few writes and no memory.
 */
import type { Steps } from '../steps.ts';
import type { Task } from './task.ts';

/** A walk in progress. */
interface Walk {
  /** The task to visit next. */
  next: Task | undefined;
  /** The first task that was appended after the walk began. */
  end: Task | undefined;
}

export class TaskList {
  oldest: Task | undefined;
  #newest: Task | undefined;
  size = 0;
  /** The weight of all tasks in the list, in bytes. */
  bytes = 0;
  /** The walks in progress, which are never many. */
  readonly #walks: Walk[] = [];
  #nextInCycle: Task | undefined;

  /** Adds the task as the newest. */
  append(task: Task): void {
    this.#add(task);
    task.older = this.#newest;
    task.newer = undefined;
    if (this.#newest === undefined) this.oldest = task;
    else this.#newest.newer = task;
    this.#newest = task;
    for (const walk of this.#walks) walk.end ??= task;
  }

  /** Adds the task as the oldest. Walks in progress skip it. */
  prepend(task: Task): void {
    this.#add(task);
    task.older = undefined;
    task.newer = this.oldest;
    if (this.oldest === undefined) this.#newest = task;
    else this.oldest.older = task;
    this.oldest = task;
  }

  remove(task: Task): void {
    this.size -= 1;
    this.bytes -= task.weight;
    for (const walk of this.#walks) {
      if (task === walk.next) walk.next = task.newer;
      if (task === walk.end) walk.end = task.newer;
    }
    if (task === this.#nextInCycle) this.#nextInCycle = task.newer;
    if (task.older === undefined) this.oldest = task.newer;
    else task.older.newer = task.newer;
    if (task.newer === undefined) this.#newest = task.older;
    else task.newer.older = task.older;
  }

  /** Changes the weight of a task in the list, in bytes. */
  weigh(task: Task, weight: number): void {
    this.bytes += weight - task.weight;
    task.weight = weight;
  }

  /** Returns one task per call, from the oldest to the newest, then from the start again. */
  cycle(): Task | undefined {
    const task = this.#nextInCycle ?? this.oldest;
    this.#nextInCycle = task?.newer;
    return task;
  }

  #add(task: Task): void {
    this.size += 1;
    this.bytes += task.weight;
  }

  /**
   * Visits the tasks currently in the list, the oldest first; those removed or appended during the walk are skipped. Several
   * walks may run at once; one that is not finished must be closed with `return()`.
   */
  *walk(perStep: number, visit: (task: Task) => void): Steps {
    const walk: Walk = { next: this.oldest, end: undefined };
    this.#walks.push(walk);
    try {
      let remainingInStep = perStep;
      while (walk.next !== undefined && walk.next !== walk.end) {
        if (remainingInStep === 0) {
          yield;
          remainingInStep = perStep;
          continue;
        }
        const task: Task = walk.next;
        walk.next = task.newer;
        remainingInStep -= 1;
        visit(task);
      }
    } finally {
      this.#walks.splice(this.#walks.indexOf(walk), 1);
    }
  }
}
