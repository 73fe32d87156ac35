/**
 * The tasks that a worker told to be running, after a gap: their events may have been missed. It begins their runs without
 * counting them, so that their ends have names, and ends none.
 */
import type { RunningTask } from '../celery/control-reply.ts';
import { find } from './chain.ts';
import type { Run } from './run.ts';
import type { HeldEvent, Task } from './task.ts';
import type { LifeContext } from './task-life.ts';
import { nothingTold } from './told.ts';
import type { WorkerInstance } from './worker-instance.ts';

/** Of a longer list, the rest may be missing. */
const RUNNING_MAX = 10_000;

/**
 * @param instance the process that told it
 * @param wallMs the current time, epoch ms
 */
export function runs(
  context: LifeContext,
  instance: WorkerInstance,
  told: readonly RunningTask[],
  wallMs: number,
  listenedMs: number,
): void {
  for (const each of told) {
    const task = context.tasks.task(each.uuid, listenedMs);
    const known = find(task.runs, (run) => run.instance.nodename === instance.nodename);
    if (known !== undefined) resume(context, task, known, each);
    // Otherwise its end has arrived meanwhile.
    else if (!task.over) begin(context, task, instance, each, wallMs, listenedMs);
  }
  const { session } = context.workers;
  instance.told ??= nothingTold();
  instance.told.running =
    told.length < RUNNING_MAX ? { session, uuids: new Set(told.map(({ uuid }) => uuid)) } : undefined;
}

/** Whether the events of a run are still in the reordering window. */
function isBeginning({ held }: Task): boolean {
  let event: HeldEvent | undefined = held;
  while (event !== undefined && event.type !== 'task-received' && event.type !== 'task-started')
    event = event.next;
  return event !== undefined;
}

/** It runs: whatever was doubted about it, or was missed. */
function resume(
  { tasks, workers, finished }: LifeContext,
  task: Task,
  run: Run,
  { startedMs }: RunningTask,
): void {
  if (run.session === workers.session) return;
  run.session = workers.session;
  if (run.standing === 'doubted' || run.standing === 'gone') run.standing = 'expected';
  tasks.expectMore(task, true);
  if (run.hasStarted || startedMs === undefined) return;
  run.stage = 'started';
  run.dueMs = undefined;
  run.sinceMs = startedMs;
  finished?.started(run, startedMs);
}

function begin(
  { tasks, workers, names, queues, finished }: LifeContext,
  task: Task,
  instance: WorkerInstance,
  { name, queue: toldQueue, startedMs = Number.NaN }: RunningTask,
  wallMs: number,
  listenedMs: number,
): void {
  task.name = names.intern(name || task.name);
  task.queue = names.intern(toldQueue || task.queue || (instance.told?.onlyQueue ?? ''));
  // The events of its beginning are in the reordering window, and will begin it.
  if (isBeginning(task)) return;
  const run = tasks.openRun(task, instance, names.identity(task.name, task.queue, instance.nodename));
  run.isTold = true;
  run.stage = 'started';
  // A clock that is ahead.
  run.sinceMs = Math.min(startedMs, wallMs);
  run.implausibleTime = Number.isNaN(startedMs);
  run.session = workers.session;
  run.place = instance.arrivals.last;
  finished?.told(run, run.plausibleSinceMs);
  queues.named.use(run.identity.queue, listenedMs);
  tasks.expectMore(task, true);
  tasks.weigh(task);
}
