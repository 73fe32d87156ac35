/**
 * Remembers which workers have revoked a task since it was last sent, because each copy of a broadcast task may be revoked, and
 * each revocation may be reported twice. It remembers only the tasks revoked most recently, and counts nothing.
 */
import type { Task } from './task.ts';

/** The most remembered tasks. They may be few, since copies are revoked soon after each other. */
const TASKS_MAX = 5000;
/** The most workers per task; reports of further workers are taken for repetitions. */
const WORKERS_MAX = 64;

export class Revokers {
  /** The nodenames of the workers that have revoked each task. */
  readonly #byTask = new Map<Task, Set<string>>();

  /** Notes that this worker has revoked the task. */
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

  /** Whether other workers have revoked the task, and this one has not. */
  isOnlyByOthers(task: Task, nodename: string): boolean {
    const workers = this.#byTask.get(task);
    return workers !== undefined && workers.size < WORKERS_MAX && !workers.has(nodename);
  }

  /** Forgets who revoked the task, when it is sent again or forgotten. */
  clear(task: Task): void {
    if (this.#byTask.size > 0) this.#byTask.delete(task);
  }
}
