/**
 * The life of one task: interprets each of its events, given the earlier ones. Runs are counted, not uuids: a run begins with
 * `task-received` and ends once, with the first end that is reported. It changes only that task’s entry.
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

/** What the life of a task reads and changes besides the task itself, with or without an event. */
export interface LifeContext {
  readonly tasks: TaskTable;
  readonly workers: WorkerTable;
  readonly queues: QueueTable;
  readonly revokers: Revokers;
  readonly skews: ClockSkews;
  readonly names: Names;
  readonly observe: Observe;
  /** If traces or logs are wanted. */
  readonly listener: RunListener | undefined;
}

/** Of a run that its worker reported. */
const NOT_KNOWN = { dueMs: undefined, plausibleSinceMs: undefined } as const;

export function sent(context: LifeContext, task: Task, event: TaskSent, listenedMs: number): void {
  // It names the queue.
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
  // Its run has already started: it arrived too late.
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

/** Applies a worker’s event of a task; to be called in the order in which they happened. */
export function applyEvent(context: LifeContext, event: HeldEvent): void {
  // A restart with the same pid may have become known after the event arrived.
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
  // Its worker reported that it is running before this event arrived.
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

/** What a new run means for earlier ones of the task that have not ended. */
function markEarlier(context: LifeContext, event: HeldEvent, name: string): void {
  const { task, instance, plausibleMs } = event;
  const isOfClient = event.type === 'task-received' && event.hasNoParent;
  for (let run = task.runs; run !== undefined; run = run.next) {
    const { task: earlier } = run.identity;
    if (name !== '' && earlier !== UNKNOWN && earlier !== name) {
      // `replace` sends another task with the same uuid, and its own run never ends. What has not started replaces nothing, and nothing
      // is replaced by what no task has sent.
      if (!run.hasStarted || isOfClient) continue;
      run.note('replaced');
      context.listener?.over(task, run, 'replaced', plausibleMs);
    } else if (run.instance !== instance) {
      run.note('takenElsewhere');
      refuteLoss(context, task, run);
    }
  }
}

/** The sending of a run with this name and number of retries; only workers know a shadow name. */
function sendingOf(task: Task, name: string, retries: number): Sending | undefined {
  return (
    find(task.sendings, (sending) => sending.retries === retries && sending.name === name) ??
    find(task.sendings, (sending) => sending.retries === retries)
  );
}

/** Begins a run of the task by the process that sent the event, with what is known from its sending and from before. */
function beginRun(context: LifeContext, event: HeldEvent, name: string, sending: Sending | undefined): Run {
  const { task, instance } = event;
  const { tasks, names } = context;
  markEarlier(context, event, name);
  const taskName = name || sending?.name || task.name;
  // A task that is redelivered, or retried without an event, stays in its queue.
  const before = taskName === task.name ? task.queue : '';
  const queue = sending?.queue || before || (instance.reported?.onlyQueue ?? '');
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

/** The oldest run on that worker that has not started: a retry's `received` may precede the end of the run before. */
function started(context: LifeContext, event: HeldEvent): void {
  const { task, instance, plausibleMs } = event;
  const waiting =
    find(task.runs, (run) => !run.hasStarted && run.instance === instance) ??
    find(task.runs, (run) => !run.hasStarted && run.instance.nodename === instance.nodename);
  const run = waiting ?? reportedRun(event) ?? beginRun(context, event, '', task.sendings);
  const { dueMs, plausibleSinceMs } = run.isReported ? NOT_KNOWN : run;
  run.isReported = false;
  run.stage = 'started';
  run.note('started');
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
  // A task may be revoked before it starts.
  if (run.hasStarted || event.type !== 'task-revoked') run.instance.counts?.ended(run, event.clock);
  refuteLoss(context, task, run);
  close(context, task, run);
  context.queues.worked.use(run.identity.queue, event.arrivedAtMs);
  // The task that replaced these has ended, so they are over, too.
  closeReplaced(context, task);
  task.over = isFinal(event);
  if (task.over) markDone(event);
  context.tasks.expectMore(task, task.runs !== undefined || !task.over);
  context.tasks.weigh(task);
  if (event.type === 'task-revoked') {
    context.revokers.add(task, event.instance.nodename);
    // Another worker has reported it, and this one may report it, too.
    if (run.instance !== event.instance) context.revokers.add(task, run.instance.nodename);
  }
  observeEnd(context, event, run);
}

/** Whether a worker that has no run of the task revokes another sending, or its own copy of one to all workers. */
function isRevokedAgain({ revokers }: LifeContext, { type, task, instance, outcome }: HeldEvent): boolean {
  // Only a running task is terminated, and only terminations are reported twice.
  if (type !== 'task-revoked' || outcome === 'terminated') return false;
  return task.sendings !== undefined || revokers.areOthers(task, instance.nodename);
}

/** The task of a lost run has ended after all, or was delivered again. */
function refuteLoss({ observe }: LifeContext, task: Task, run: Run): void {
  if (run.standing !== 'lost') return;
  task.lost = false;
  run.note('lossRefuted');
  observe({ kind: 'loss-refuted', run: run.identity });
}

function observeEnd({ observe, listener }: LifeContext, event: HeldEvent, ended: Run): void {
  const { identity: run } = ended;
  const { outcome, text: errorType, plausibleMs } = event;
  // By the worker’s own two timestamps; 0 if its clock was set back in between.
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
  // After counting, since the counts may have exemplars.
  listener?.ended(event.task, ended, {
    outcome,
    errorType: isError ? errorType : '',
    endedMs: plausibleMs,
    runtimeS: outcome === 'succeeded' ? event.runtimeS : isError ? elapsedS : undefined,
    error: isError || outcome === 'rejected' ? event.extras?.error : undefined,
    result: event.extras?.result ?? '',
  });
}

/** Whether the task is over. After the other ends it is redelivered, and its next run has its own end. */
function isFinal({ outcome }: HeldEvent): boolean {
  return outcome !== 'retried' && outcome !== 'requeued' && outcome !== 'cancelled';
}

/** A task that a process with this pid has finished is not lost with an earlier one. */
function markDone({ task, instance }: HeldEvent): void {
  for (let run = task.runs; run !== undefined; run = run.next) {
    if (run.instance.hash === instance.hash) run.note('takenElsewhere');
  }
}

function closeReplaced(context: LifeContext, task: Task): void {
  for (let run = task.runs; run !== undefined; run = run.next) {
    if (run.standing !== 'replaced') continue;
    context.listener?.closed(task, run);
    close(context, task, run);
  }
}

function close({ tasks }: LifeContext, task: Task, run: Run): void {
  run.note('ended');
  tasks.closeRun(task, run);
}

/** The later of a moment and an ETA, if there is one. */
function laterOf(momentMs: number, etaMs: number | undefined): number {
  return etaMs === undefined ? momentMs : Math.max(momentMs, etaMs);
}
