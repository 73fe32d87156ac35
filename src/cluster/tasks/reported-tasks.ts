/**
 * Takes the tasks that a worker reported after a gap in the connection, since their events may have been missed. It begins
 * their runs without counting them, so that their ends have names. It ends no run.
 */
import type { ReportedTask } from '../../celery/control-reply.ts';
import type { WorkerInstance } from '../workers/worker-instance.ts';
import { nothingReported } from '../workers/worker-report.ts';
import { find } from './chain.ts';
import type { Run } from './run.ts';
import type { HeldEvent, Task } from './task.ts';
import type { LifeContext } from './task-life.ts';

/** A list of this many running tasks may be incomplete. */
const RUNNING_MAX = 10_000;

/**
 * Takes some of the tasks that a process has.
 * @param instance the process that reported the tasks
 * @param wallMs the current time, epoch ms
 */
export function takeReported(
  context: LifeContext,
  instance: WorkerInstance,
  reported: readonly ReportedTask[],
  wallMs: number,
  listenedMs: number,
): void {
  for (const each of reported) {
    const task = context.tasks.task(each.uuid, listenedMs);
    const known = find(task.runs, (run) => run.instance.nodename === instance.nodename);
    if (known !== undefined) resume(context, task, known, each);
    // If the task is over, its end has arrived since the worker replied.
    else if (!task.over) begin(context, task, instance, each, wallMs, listenedMs);
  }
}

/** Takes all tasks that a process is running. */
export function takeAllRunning(
  context: LifeContext,
  instance: WorkerInstance,
  reported: readonly ReportedTask[],
  wallMs: number,
  listenedMs: number,
): void {
  takeReported(context, instance, reported, wallMs, listenedMs);
  const { session } = context.workers;
  instance.reported ??= nothingReported();
  instance.reported.running =
    reported.length < RUNNING_MAX ? { session, uuids: new Set(reported.map(({ uuid }) => uuid)) } : undefined;
}

/** Whether the first event of a run of the task is still in the reordering window. */
function hasHeldBeginning({ held }: Task): boolean {
  let event: HeldEvent | undefined = held;
  while (event !== undefined && event.type !== 'task-received' && event.type !== 'task-started')
    event = event.next;
  return event !== undefined;
}

/** Makes the end of a known run expected again, since its worker reported the task. */
function resume(
  { tasks, workers }: LifeContext,
  task: Task,
  run: Run,
  { stage, sinceMs }: ReportedTask,
): void {
  // A run that has started does not wait again: the worker reported the next run, which will begin with an event.
  if (run.session === workers.session || (run.hasStarted && stage !== 'started')) return;
  run.session = workers.session;
  run.noteFact('reportedActive');
  tasks.expectMore(task, true);
  if (run.hasStarted || stage !== 'started' || sinceMs === undefined) return;
  run.stage = 'started';
  run.dueMs = undefined;
  run.sinceMs = sinceMs;
}

/** Begins the run of a task that its worker reported. */
function begin(
  { tasks, workers, names, queues, listener }: LifeContext,
  task: Task,
  instance: WorkerInstance,
  { name, queue: reportedQueue, stage, sinceMs }: ReportedTask,
  wallMs: number,
  listenedMs: number,
): void {
  task.name = names.intern(name || task.name);
  task.queue = names.intern(reportedQueue || task.queue || (instance.reported?.onlyQueue ?? ''));
  // The held event will begin the run.
  if (hasHeldBeginning(task)) return;
  const run = tasks.openRun(task, instance, names.identity(task.name, task.queue, instance.nodename));
  run.isReported = true;
  run.stage = stage;
  // The worker’s clock may be ahead, and a start in the future is impossible.
  run.sinceMs = stage === 'scheduled' ? (sinceMs ?? wallMs) : Math.min(sinceMs ?? wallMs, wallMs);
  run.implausibleTime = sinceMs === undefined;
  run.session = workers.session;
  run.place = instance.arrivals.last;
  listener?.began(task, run);
  queues.named.use(run.identity.queue, listenedMs);
  tasks.expectMore(task, true);
  tasks.weigh(task);
}
