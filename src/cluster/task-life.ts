/**
 * The life of one task: what each event of it means, given what came before. A run, not a uuid, is what is counted: it
 * begins with `task-received` and ends once, with the first end that is told. Changes that task's entry, nothing else.
 */
import type { TaskEnd, TaskEvent, TaskReceived, TaskRevoked, TaskSent } from '../celery/event.ts';
import { type Observation, type Revocation, UNKNOWN } from './observation.ts';
import type { Run, Task, TaskTable } from './task-table.ts';

const NOTHING: readonly Observation[] = [];

export function observeTask(tasks: TaskTable, event: TaskEvent): readonly Observation[] {
  const task = tasks.task(event.uuid);
  switch (event.type) {
    case 'task-sent':
      return [sent(task, event)];
    case 'task-received':
      return [received(tasks, task, event)];
    case 'task-started':
      return [started(tasks, task, event)];
    default:
      return ended(task, event);
  }
}

function sent(task: Task, event: TaskSent): Observation {
  if (event.name !== '') task.name = event.name;
  if (event.queue !== '') task.queue = event.queue;
  return { kind: 'task-sent', task: task.name || UNKNOWN, queue: task.queue || UNKNOWN };
}

function received(tasks: TaskTable, task: Task, event: TaskReceived): Observation {
  if (event.name !== '') {
    task.name = event.name;
    // `replace` sends another task under the same uuid and then leaves without an end of its own.
    for (const run of task.open) run.replaced = run.name !== '' && run.name !== event.name;
  }
  const run = tasks.openRun(task, event.name, event.hostname);
  return { kind: 'task-received', ...attributes(task, run) };
}

/** The oldest run on that worker that has not started: a retry's `received` may precede the end of the run before. */
function started(tasks: TaskTable, task: Task, event: TaskEvent): Observation {
  const run =
    task.open.find((open) => open.startedAtMs === undefined && open.worker === event.hostname) ??
    tasks.openRun(task, '', event.hostname);
  run.startedAtMs = event.timestampMs;
  return { kind: 'task-started', ...attributes(task, run) };
}

function ended(task: Task, event: TaskEnd): readonly Observation[] {
  const run = closeRun(task, event);
  // Celery tells some ends twice (a hard time limit, a rejection, a termination): only the first is one.
  if (run === undefined) return NOTHING;
  task.over = isFinal(event);
  task.endedAtMs = event.timestampMs;
  if (event.type === 'task-revoked') {
    // Every worker that is handed a revoked task reports the one revocation of it.
    if (task.revoked) return NOTHING;
    task.revoked = true;
  }
  return [end(event, attributes(task, run), run)];
}

function end(event: TaskEnd, of: TaskAttributes, run: Run): Observation {
  switch (event.type) {
    case 'task-succeeded':
      return { kind: 'task-succeeded', ...of, runtimeS: event.runtimeS };
    case 'task-failed':
      // Told as a failure, it is the run's rejection; the `task-rejected` that may follow repeats it.
      if (event.rejection) return { kind: 'task-rejected', ...of, requeue: false };
      return { kind: 'task-failed', ...of, errorType: event.errorType, runtimeS: elapsedS(run, event) };
    case 'task-retried':
      return { kind: 'task-retried', ...of, errorType: event.errorType, runtimeS: elapsedS(run, event) };
    case 'task-rejected':
      return { kind: 'task-rejected', ...of, requeue: event.requeue };
    case 'task-revoked':
      return { kind: 'task-revoked', ...of, revocation: revocation(event) };
    case 'task-cancelled':
      return { kind: 'task-cancelled', ...of };
  }
}

/** Whether the task is done with: after these ends it is delivered again, and its next run ends on its own. */
function isFinal(event: TaskEnd): boolean {
  if (event.type === 'task-rejected') return !event.requeue;
  return event.type !== 'task-retried' && event.type !== 'task-cancelled';
}

/** The run that ends, no longer open; one made up where none was seen; undefined if the end repeats an earlier one. */
function closeRun(task: Task, event: TaskEnd): Run | undefined {
  const { open } = task;
  const index = endingRun(open, event);
  const run = open[index];
  if (run === undefined) {
    if (task.over || task.endedAtMs === event.timestampMs) return undefined;
    return { name: '', worker: event.hostname, startedAtMs: undefined, replaced: false };
  }
  open.splice(index, 1);
  // The task that took the place of these has ended, so they are over as well.
  for (let other = open.length - 1; other >= 0; other -= 1) if (open[other]?.replaced) open.splice(other, 1);
  return run;
}

/** The oldest run of that worker; one that was replaced only where there is no other. */
function endingRun(open: readonly Run[], event: TaskEnd): number {
  let best = -1;
  let bestRank = 0;
  for (const [index, run] of open.entries()) {
    const rank = endingRank(run, event);
    if (rank > bestRank) {
      best = index;
      bestRank = rank;
    }
  }
  return best;
}

function endingRank(run: Run, event: TaskEnd): number {
  if (run.worker === event.hostname) return run.replaced ? 2 : 3;
  // What waits in one worker may be told as revoked by another; every other end is told by the worker that has the run.
  return event.type === 'task-revoked' && run.startedAtMs === undefined ? 1 : 0;
}

interface TaskAttributes {
  readonly task: string;
  readonly queue: string;
  readonly worker: string;
}

function attributes(task: Task, run: Run): TaskAttributes {
  return { task: run.name || task.name || UNKNOWN, queue: task.queue || UNKNOWN, worker: run.worker };
}

/** By the worker's own two timestamps; a clock that was set back in between gives 0. */
function elapsedS(run: Run, event: TaskEnd): number | undefined {
  return run.startedAtMs === undefined ? undefined : Math.max(0, event.timestampMs - run.startedAtMs) / 1000;
}

function revocation(event: TaskRevoked): Revocation {
  if (event.terminated) return 'terminated';
  return event.expired ? 'expired' : 'revoked';
}
