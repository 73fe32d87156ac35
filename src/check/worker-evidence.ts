/** What a check has observed of one worker, in events and replies. It holds data, and decides nothing. */
import type { CeleryEvent, TaskSent, TaskTraced } from '../celery/event.ts';

/** An event that a worker sends about itself, or about a task that it has received. */
export type WorkerEvent = Exclude<CeleryEvent, TaskSent | TaskTraced>;

export class WorkerEvidence {
  hasReplied = false;
  /** Whether it reported its queues before the latest `active_queues` ended, and since its process started. */
  hasReportedQueues = false;
  heartbeats = 0;
  taskEvents = 0;
  /** How many remote control commands ended while it was present, since its first event. */
  questions = 0;
  /** How many commands of the check had ended when its `worker-offline` arrived; infinite while it is present. */
  leftAfter = Number.POSITIVE_INFINITY;
  /**
   * When a heartbeat first showed that it had started tasks since its first heartbeat on this connection, in listened
   * time; undefined if none did.
   */
  ranTasksAtMs: number | undefined;
  /** The smallest time between an event and its arrival, ms; negative if the clock of the worker is fast. */
  lagMs = Number.POSITIVE_INFINITY;
  /** The process id of its main process. */
  #pid = 0;
  /** `processed` of its first heartbeat on this connection: tasks started since it booted. */
  #processed: number | undefined;

  get hasLeft(): boolean {
    return this.leftAfter < Number.POSITIVE_INFINITY;
  }

  note(event: WorkerEvent, arrivedAtMs: number, listenedMs: number): void {
    const lagMs = arrivedAtMs - (event.implausibleMs ?? event.timestampMs);
    if (Math.abs(lagMs) < Math.abs(this.lagMs)) this.lagMs = lagMs;
    if (!('processed' in event)) {
      this.taskEvents += 1;
      return;
    }
    // `worker-offline` ends a worker, and is not counted as a heartbeat.
    if (event.type !== 'worker-offline') this.heartbeats += 1;
    this.#noteProcess(event.pid, event.type === 'worker-online');
    if (event.processed === undefined) return;
    this.#processed ??= event.processed;
    if (event.processed > this.#processed) this.ranTasksAtMs ??= listenedMs;
  }

  /** Task events may have been missed, so later heartbeats cannot show that task events are off. */
  forgetTasks(): void {
    this.#processed = undefined;
    this.ranTasksAtMs = undefined;
  }

  /** Detects a new process: a restart, or a second worker with the same name. */
  #noteProcess(pid: number, isOnline: boolean): void {
    const isOther = pid !== this.#pid;
    if (isOther) this.forgetTasks();
    if (isOnline || (isOther && this.#pid !== 0)) this.hasReportedQueues = false;
    this.#pid = pid;
  }
}
