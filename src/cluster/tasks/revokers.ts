/**
 * Which workers have revoked a task since it was last sent: each copy of a broadcast task may be revoked, and each may be reported
 * twice. Only for the tasks revoked most recently; it counts nothing.
 */
import type { Task } from './task.ts';

/** Copies are revoked soon after each other. */
const TASKS_MAX = 5000;
/** Per task; later reports are taken for repetitions. */
const WORKERS_MAX = 64;

export class Revokers {
  /** Nodenames. */
  readonly #byTask = new Map<Task, Set<string>>();

  add(task: Task, nodename: string): void {
    const workers = this.#byTask.get(task) ?? new Set();
    if (workers.size < WORKERS_MAX) workers.add(nodename);
    this.#byTask.set(task, workers);
    if (this.#byTask.size <= TASKS_MAX) return;
    for (const oldest of this.#byTask.keys()) {
      this.#byTask.delete(oldest);
      return;
    }
  }

  /** Whether others have revoked the task, and this worker has not. */
  areOthers(task: Task, nodename: string): boolean {
    const workers = this.#byTask.get(task);
    return workers !== undefined && workers.size < WORKERS_MAX && !workers.has(nodename);
  }

  /** The task was sent, or is forgotten. */
  clear(task: Task): void {
    if (this.#byTask.size > 0) this.#byTask.delete(task);
  }
}
