/**
 * The life of one task: interprets each of its events, given the earlier ones. It counts runs, not task ids: a run begins with
 * `task-received` and ends once, with the first end that is reported. It changes no other task.
 */
import type { TaskSent } from '../../celery/event.ts';
import { undelayedKey } from '../../text/native-delay.ts';
import type { Names } from '../names.ts';
import { type Observe, UNKNOWN } from '../observation.ts';
import type { QueueTable } from '../queues/queue-table.ts';
import type { WorkerTable } from '../workers/worker-table.ts';
import { find } from './chain.ts';
import { type ClockSkews, secondsBetween } from './clock-skew.ts';
import { endingRun } from './ending-run.ts';
import { reportedRun } from './reported-run.ts';
import type { Revokers } from './revokers.ts';
import type { Run, Sending } from './run.ts';
import type { RunListener } from './run-listener.ts';
import type { HeldEvent, Task } from './task.ts';
import type { TaskTable } from './task-table.ts';

/** The parts of the cluster that this file and `settling/` read and change besides the task itself. */
export interface LifeContext {
  readonly tasks: TaskTable;
  readonly workers: WorkerTable;
  readonly queues: QueueTable;
  readonly revokers: Revokers;
  readonly skews: ClockSkews;
  readonly names: Names;
  readonly observe: Observe;
  /** The listener of runs; undefined unless traces, logs or remembered runs are wanted. */
  readonly listener: RunListener | undefined;
}

/** The times from which the waits of a run are computed, if its receipt was missed. */
const UNKNOWN_TIMES = { dueMs: undefined, plausibleSinceMs: undefined } as const;

/** Applies a `task-sent`. */
export function sent(context: LifeContext, task: Task, event: TaskSent, listenedMs: number): void {
  // With native delayed delivery, only the routing key names the queue.
  const delayedTo = event.queue === '' ? undelayedKey(event.routingKey) : undefined;
  const name = context.names.intern(event.name);
  const queue = context.names.intern(delayedTo ?? event.queue);
  const run = context.names.identity(name, queue, '');
  context.observe({ kind: 'task-sent', run });
  context.queues.named.use(run.queue, listenedMs);
  const sender = context.names.intern(event.hostname);
  const routingKey = delayedTo ?? context.names.intern(event.routingKey);
  context.listener?.sent(task, event, { name, queue, sender, routingKey });
  if (name !== '') task.name = name;
  if (queue !== '') task.queue = queue;
  // If its run has already started, the event arrived too late to begin a wait.
  const late = find(task.runs, (run) => run.dueMs === undefined && event.timestampMs < run.sinceMs);
  if (late !== undefined) {
    context.tasks.weigh(task);
    return;
  }
  const sending = context.tasks.addSending(task);
  sending.name = name;
  sending.queue = queue;
  sending.retries = event.retries;
  sending.sentMs = event.timestampMs;
  sending.implausibleTime = event.implausibleMs !== undefined;
  sending.etaMs = event.etaMs;
  sending.expiresMs = event.expiresMs;
  sending.delayed = delayedTo !== undefined;
  sending.session = context.workers.session;
  sending.sender = sender;
  sending.cohort = sending.delayed ? undefined : context.queues.cohorts.add(queue, listenedMs);
  context.revokers.clear(task);
  context.tasks.weigh(task);
}

/** Applies a worker’s event of a task. The events of a task must be applied in the order in which they happened. */
export function applyEvent(context: LifeContext, event: HeldEvent): void {
  // If the process restarted with the same pid, that may have become known only after the event arrived.
  event.instance = event.instance.at(event.place);
  switch (event.type) {
    case 'task-received':
      received(context, event);
      break;
    case 'task-started':
      started(context, event);
      break;
    default:
      ended(context, event);
  }
}

function received(context: LifeContext, event: HeldEvent): void {
  const { task, text: name } = event;
  const sending = sendingOf(task, name, event.retries);
  // The worker may have reported the run in a reply before this event arrived.
  const reported = reportedRun(event);
  if (reported !== undefined) {
    if (sending !== undefined) context.tasks.takeSending(task, sending);
    context.listener?.received(task, reported, event, undefined);
    context.observe({ kind: 'task-received', run: reported.identity, queueTimeS: undefined });
    return;
  }
  const run = beginRun(context, event, name, sending);
  run.sinceMs = laterOf(event.timestampMs, event.etaMs);
  if (run.sinceMs > event.timestampMs) run.stage = 'scheduled';
  run.place = event.place;
  run.retries = event.retries;
  run.implausibleTime = event.implausibleTime;
  run.expiresMs = event.expiresMs;
  const queuedMs = sending?.delayed === true ? run.dueMs : sending?.plausibleMs;
  const queueTimeS = context.skews.across(queuedMs, event.plausibleMs, run.sender, run.instance.nodename);
  context.listener?.received(task, run, event, queueTimeS);
  context.observe({ kind: 'task-received', run: run.identity, queueTimeS });
}

/** Changes the standings of the task’s earlier open runs when a new run begins. */
function markEarlier(context: LifeContext, event: HeldEvent, name: string): void {
  const { task, instance, plausibleMs } = event;
  const isSentByClient = event.type === 'task-received' && event.hasNoParent;
  for (let run = task.runs; run !== undefined; run = run.next) {
    const { task: earlier } = run.identity;
    if (name !== '' && earlier !== UNKNOWN && earlier !== name) {
      // A task that calls `replace` sends another one with the same id, and its own run never ends. So the earlier run must have
      // started, and the new task must have been sent by a task.
      if (!run.hasStarted || isSentByClient) continue;
      run.noteFact('replaced');
      context.listener?.over(task, run, 'replaced', plausibleMs);
    } else if (run.instance !== instance) {
      run.noteFact('takenElsewhere');
      refuteLoss(context, task, run);
    }
  }
}

/** The sending that a run with this name and number of retries received. The names differ if workers use a shadow name. */
function sendingOf(task: Task, name: string, retries: number): Sending | undefined {
  return (
    find(task.sendings, (sending) => sending.retries === retries && sending.name === name) ??
    find(task.sendings, (sending) => sending.retries === retries)
  );
}

/** Begins a run of the task in the process that sent the event, with the names from the event, its sending or earlier events. */
function beginRun(context: LifeContext, event: HeldEvent, name: string, sending: Sending | undefined): Run {
  const { task, instance } = event;
  const { tasks, names } = context;
  markEarlier(context, event, name);
  const taskName = name || sending?.name || task.name;
  // A task that is redelivered, or retried without an event, stays in its queue.
  const earlierQueue = taskName === task.name ? task.queue : '';
  const queue = sending?.queue || earlierQueue || (instance.reported?.onlyQueue ?? '');
  const run = tasks.openRun(task, instance, names.identity(taskName, queue, instance.nodename));
  context.listener?.began(task, run, event, sending);
  if (sending !== undefined) {
    run.dueMs = sending.plausibleDueMs;
    run.sender = sending.sender;
    tasks.takeSending(task, sending, true);
  }
  context.queues.named.use(run.identity.queue, event.arrivedAtMs);
  task.name = taskName;
  task.queue = queue;
  task.over = false;
  tasks.weigh(task);
  return run;
}

/** Starts the oldest run on that worker that has not started; a retry may be received before the previous run has ended. */
function started(context: LifeContext, event: HeldEvent): void {
  const { task, instance, plausibleMs } = event;
  const waiting =
    find(task.runs, (run) => !run.hasStarted && run.instance === instance) ??
    find(task.runs, (run) => !run.hasStarted && run.instance.nodename === instance.nodename);
  const run = waiting ?? reportedRun(event) ?? beginRun(context, event, '', task.sendings);
  const { dueMs, plausibleSinceMs } = run.isReported ? UNKNOWN_TIMES : run;
  run.isReported = false;
  run.stage = 'started';
  run.noteFact('started');
  context.tasks.assign(run, instance);
  run.dueMs = undefined;
  run.sinceMs = event.timestampMs;
  run.place = event.place;
  run.implausibleTime = event.implausibleTime;
  run.session = instance.lastSession;
  context.tasks.expectMore(task, true);
  const waitTimeS = context.skews.across(dueMs, plausibleMs, run.sender, instance.nodename);
  const prefetchTimeS = secondsBetween(plausibleSinceMs, plausibleMs);
  context.listener?.started(task, run, waitTimeS, prefetchTimeS);
  context.observe({ kind: 'task-started', run: run.identity, waitTimeS, prefetchTimeS });
}

function ended(context: LifeContext, event: HeldEvent): void {
  const { task } = event;
  let run = endingRun(task.runs, event);
  if (run === undefined) {
    // Celery reports some ends twice (a hard time limit, a rejection, a termination): only the first counts.
    if (task.over && !isRevokedAgain(context, event)) return;
    const name = event.type === 'task-failed' && task.name === '' ? context.names.intern(event.name) : '';
    run = beginRun(context, event, name, task.sendings);
  }
  // A run that is revoked before it starts has no start that could have been missed.
  if (run.hasStarted || event.type !== 'task-revoked') run.instance.counts?.ended(run, event.clock);
  refuteLoss(context, task, run);
  close(context, task, run);
  context.queues.worked.use(run.identity.queue, event.arrivedAtMs);
  // The runs that `replace` ended are over together with the task that replaced them.
  closeReplaced(context, task);
  task.over = isFinal(event);
  if (task.over) markFinishedElsewhere(event);
  context.tasks.expectMore(task, task.runs !== undefined || !task.over);
  context.tasks.weigh(task);
  if (event.type === 'task-revoked') {
    context.revokers.add(task, event.instance.nodename);
    // The worker of the run may report the same revocation, too.
    if (run.instance !== event.instance) context.revokers.add(task, run.instance.nodename);
  }
  observeEnd(context, event, run);
}

/** Whether a revocation without a run is new: that of another sending, or of the worker’s own copy of a broadcast task. */
function isRevokedAgain({ revokers }: LifeContext, { type, task, instance, outcome }: HeldEvent): boolean {
  // Only a running task is terminated, and only terminations are reported twice.
  if (type !== 'task-revoked' || outcome === 'terminated') return false;
  return task.sendings !== undefined || revokers.isOnlyByOthers(task, instance.nodename);
}

/** Observes that a run was not lost, since its task has ended after all or was delivered again. */
function refuteLoss({ observe }: LifeContext, task: Task, run: Run): void {
  if (run.standing !== 'lost') return;
  task.lost = false;
  run.noteFact('lossRefuted');
  observe({ kind: 'loss-refuted', run: run.identity });
}

function observeEnd({ observe, listener }: LifeContext, event: HeldEvent, ended: Run): void {
  const { identity: run } = ended;
  const { outcome, text: errorType, plausibleMs } = event;
  // The difference of two timestamps of the same worker; 0 if its clock was set back in between.
  const elapsedS = ended.hasStarted ? secondsBetween(ended.plausibleSinceMs, plausibleMs) : undefined;
  const isError = outcome === 'failed' || outcome === 'retried';
  switch (outcome) {
    case 'succeeded':
      observe({ kind: 'task-succeeded', run, runtimeS: event.runtimeS });
      break;
    case 'failed':
    case 'retried':
      observe({ kind: `task-${outcome}`, run, errorType, runtimeS: elapsedS });
      break;
    case 'rejected':
    case 'requeued':
      observe({ kind: 'task-rejected', run, requeue: outcome === 'requeued' });
      break;
    case 'revoked':
    case 'terminated':
    case 'expired':
      observe({ kind: 'task-revoked', run, revocation: outcome });
      break;
    case 'cancelled':
      observe({ kind: 'task-cancelled', run });
      break;
  }
  // The listener is called after the counting, since the counts may have exemplars.
  listener?.ended(event.task, ended, {
    outcome,
    errorType: isError ? errorType : '',
    endedMs: plausibleMs,
    runtimeS: outcome === 'succeeded' ? event.runtimeS : isError ? elapsedS : undefined,
    error: isError || outcome === 'rejected' ? event.extras?.error : undefined,
    result: event.extras?.result ?? '',
  });
}

/** Whether the task is over with this end. After a retry, a requeue or a cancellation it is redelivered, and runs again. */
function isFinal({ outcome }: HeldEvent): boolean {
  return outcome !== 'retried' && outcome !== 'requeued' && outcome !== 'cancelled';
}

/** A task that has ended in a process is not lost with an earlier process of the same nodename and pid. */
function markFinishedElsewhere({ task, instance }: HeldEvent): void {
  for (let run = task.runs; run !== undefined; run = run.next) {
    if (run.instance.hash === instance.hash) run.noteFact('takenElsewhere');
  }
}

/** Closes the runs of the task that `replace` ended. */
function closeReplaced(context: LifeContext, task: Task): void {
  for (let run = task.runs; run !== undefined; run = run.next) {
    if (run.standing !== 'replaced') continue;
    context.listener?.closed(task, run);
    close(context, task, run);
  }
}

function close({ tasks }: LifeContext, task: Task, run: Run): void {
  run.noteFact('ended');
  tasks.closeRun(task, run);
}

/** The later of a moment and an ETA, if there is one. */
function laterOf(momentMs: number, etaMs: number | undefined): number {
  return etaMs === undefined ? momentMs : Math.max(momentMs, etaMs);
}
