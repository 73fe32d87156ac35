/** What a check has observed of one worker, in events and replies. It holds data, and decides nothing. */
import type { CeleryEvent, TaskSent, TaskTraced } from '../celery/event.ts';

/** An event that a worker sends about itself, or about a task that it has. */
export type WorkerEvent = Exclude<CeleryEvent, TaskSent | TaskTraced>;

export class WorkerEvidence {
  hasReplied = false;
  /** Since its process started, and before the last `active_queues` ended. */
  hasReportedQueues = false;
  heartbeats = 0;
  taskEvents = 0;
  /** Commands of remote control that ended since its first event, while it was present. */
  questions = 0;
  /** How many questions had ended when its `worker-offline` arrived; infinite while it is present. */
  leftAfter = Number.POSITIVE_INFINITY;
  /** Listened time of the first heartbeat with more tasks started than the first one had on this connection, ms. */
  ranTasksAtMs: number | undefined;
  /** The least time between an event and its arrival, ms; negative if its clock is fast. */
  lagMs = Number.POSITIVE_INFINITY;
  /** Process id of its main process. */
  #pid = 0;
  /** Tasks started since it booted, by its first heartbeat on this connection. */
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
    // `worker-offline` ends a worker: it is no heartbeat.
    if (event.type !== 'worker-offline') this.heartbeats += 1;
    this.#noteProcess(event.pid, event.type === 'worker-online');
    if (event.processed === undefined) return;
    this.#processed ??= event.processed;
    if (event.processed > this.#processed) this.ranTasksAtMs ??= listenedMs;
  }

  /** Task events may have been missed: later heartbeats prove nothing about them. */
  forgetTasks(): void {
    this.#processed = undefined;
    this.ranTasksAtMs = undefined;
  }

  /** Another one: after a restart, or a second worker with the same name. */
  #noteProcess(pid: number, isOnline: boolean): void {
    const isOther = pid !== this.#pid;
    if (isOther) this.forgetTasks();
    if (isOnline || (isOther && this.#pid !== 0)) this.hasReportedQueues = false;
    this.#pid = pid;
  }
}
