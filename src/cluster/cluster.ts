/**
 * The state of one Celery cluster: applies each event to the known tasks and workers and emits observations. Pure and
 * bounded: no I/O and no clock; time is an argument of each call.
 */
import type { CeleryEvent, TaskSent } from '../celery/event.ts';
import { type Answers, ClusterAnswers } from './answers.ts';
import { createLookup, type Lookup } from './lookup.ts';
import type { Moment } from './moment.ts';
import { Names } from './names.ts';
import type { ClusterTables, ClusterView, Observe, TableState } from './observation.ts';
import { QueueTable } from './queues/queue-table.ts';
import { Settling } from './settling/settling.ts';
import type { Steps } from './steps.ts';
import { ClockSkews } from './tasks/clock-skew.ts';
import { LastEnds } from './tasks/last-ends.ts';
import { Revokers } from './tasks/revokers.ts';
import type { OpenRunListener } from './tasks/run-listener.ts';
import type { Task, WorkerTaskEvent } from './tasks/task.ts';
import { applyEvent, type LifeContext, sent } from './tasks/task-life.ts';
import { fingerprint } from './tasks/task-numbers.ts';
import { TaskTable } from './tasks/task-table.ts';
import { view } from './view.ts';
import { RANKS } from './window/event-order.ts';
import { HeldExtras } from './window/held-extras.ts';
import { ReorderingWindow, type WindowSettings } from './window/reordering-window.ts';
import { type WorkerSettings, WorkerTable } from './workers/worker-table.ts';

export interface ClusterSettings extends WorkerSettings, WindowSettings {
  /** The most tasks to remember, in number and in bytes; beyond either a task is evicted, preferably one that has ended. */
  readonly tasksMax: number;
  /** The most pairs of hosts with different clocks that are counted by name; all others are counted together. */
  readonly skewPairsMax: number;
  /** 32 bits unknown to senders, so that they cannot make task ids collide; by default a constant. */
  readonly hashSeed?: number;
}

export interface Cluster {
  /** Takes facts that arrive as replies, and returns whom and what to ask. */
  readonly answers: Answers;
  /** Looks up single tasks, workers and queues. */
  readonly lookup: Lookup;
  /**
   * Takes one event; its observations follow within the reordering window.
   * @param steadyMs when the event arrived, epoch ms, by a clock that is never adjusted
   * @param listenedMs when the event arrived, in listened time, ms
   */
  apply(event: CeleryEvent, steadyMs: number, listenedMs: number): void;
  /**
   * Applies events that have left the reordering window, and observes what follows from time alone. It works in steps,
   * since there is much to do after a burst; events may be applied between them. Run one call at a time, to its end.
   * @param now called whenever the time is needed
   * @returns the nodenames of the workers that were forgotten since the last call: their series end
   */
  settle(now: () => Moment): Steps<readonly string[]>;
  /**
   * Reads the current state and changes nothing: several views may be read at once, also while events are applied or `settle`
   * runs. Steps that are not run to their end must be closed with `return()`.
   * @param now called whenever the time is needed
   */
  view(now: () => Moment): Steps<ClusterView>;
  /** To be called when the connection has ended: applies all task events in the reordering window, in steps. */
  drain(): Steps;
  /** To be called when a new connection begins: events may have been missed since the last one. */
  gap(): void;
  /** To be called when no more events will arrive: applies all held events at once. */
  flush(): void;
  /** The fill level of each bounded table. */
  tables(): ClusterTables;
  /**
   * How many things were dropped or applied early because of fixed bounds, which no normal cluster reaches: runs, sendings and
   * held events of one task, held worker events, processes under one nodename, idle queues, queues that workers
   * consume, and names of tasks that ended.
   */
  beyondFixedBounds(): number;
}

/** How many held events each new event releases at most, so that no event takes long. */
const RELEASED_PER_EVENT = 2;
/** Held task events that are applied per step: this takes a few ms if each has a new name. */
const RELEASED_PER_STEP = 100;
/**
 * Held worker events that are applied per step; each may have its memory measured, and may release others. They are applied
 * before task events: the count that a worker reports must be known before the ends that follow it.
 */
const WORKER_EVENTS_PER_STEP = 50;

/** The type of `task-sent` in fingerprints, which `RANKS` lacks. */
const SENT_RANK = 0;

/**
 * @param onObservation called once for each fact, on the stack of the call that led to it
 * @param openListener creates a listener that is called with more of each run than is counted; it costs memory and time
 */
export function createCluster(
  settings: ClusterSettings,
  onObservation: Observe,
  openListener?: OpenRunListener,
): Cluster {
  const [ends, names, revokers] = [new LastEnds(), new Names(), new Revokers()];
  const observe = ends.recording(onObservation);
  const known = { find: (id: string) => tasks.find(id), idOf: (task: Task) => tasks.idOf(task) };
  const listener = openListener?.(known, settings);
  const workers = new WorkerTable(settings, { windowMs: settings.windowMs, observe });
  const forget = (task: Task): void => forgetPartsOf(task, window, revokers);
  const tasks = new TaskTable(settings.tasksMax, forget, listener, settings.hashSeed);
  const skews = skewsOf(settings, observe);
  const queues = new QueueTable(settings.seriesRetentionMs);
  const context: LifeContext = { tasks, workers, queues, revokers, skews, names, observe, listener };
  const extras = listener && new HeldExtras(settings.heldMax);
  const window = new ReorderingWindow(settings, (event) => applyEvent(context, event), names, extras);
  const answers = new ClusterAnswers(context);
  const parts = { tasks, workers, window, skews, queues, ends, listener, extras };

  function hold(event: WorkerTaskEvent, steadyMs: number, listenedMs: number): void {
    const instance = workers.instance(event, steadyMs, listenedMs);
    const task = tasks.task(event.uuid, listenedMs);
    const { type, clock, timestampMs, implausibleMs } = event;
    const eventPrint = fingerprint(RANKS[type], instance.hash, clock, implausibleMs ?? timestampMs);
    if (tasks.isRepeat(task, eventPrint)) return;
    if (type === 'task-started') instance.started(timestampMs, implausibleMs !== undefined, clock);
    window.hold(event, task, instance, listenedMs);
  }

  return {
    answers,
    lookup: createLookup(context, () => answers.reportAgeMs !== undefined),
    apply(event, steadyMs, listenedMs) {
      ends.nowMs = steadyMs;
      if (listener !== undefined) listener.nowMs = steadyMs;
      workers.release(listenedMs, RELEASED_PER_EVENT);
      window.release(listenedMs, RELEASED_PER_EVENT);
      if (!('uuid' in event)) workers.signal(event, steadyMs, listenedMs);
      else if (event.type === 'task-sent') applySending(context, event, listenedMs);
      else if (event.type === 'task-traced') listener?.traced(event);
      else hold(event, steadyMs, listenedMs);
    },
    *settle(now) {
      ends.nowMs = now().wallMs;
      while (workers.release(now().listenedMs, WORKER_EVENTS_PER_STEP)) yield;
      yield* release(window, tasks, now().listenedMs);
      yield* answers.keepQueues(now().listenedMs);
      return yield* new Settling(context, now).settle();
    },
    view: (now) => view({ ...context, answers, ends }, now),
    drain: () => release(window, tasks, Number.POSITIVE_INFINITY),
    gap() {
      window.flush();
      workers.session += 1;
    },
    flush() {
      window.flush();
      workers.flush();
    },
    tables: () => tablesOf(settings, parts),
    beyondFixedBounds: () => beyondFixedBounds(parts),
  };
}

function skewsOf({ skewPairsMax, seriesRetentionMs }: ClusterSettings, observe: Observe): ClockSkews {
  return new ClockSkews(skewPairsMax, seriesRetentionMs, (senderHost, workerHost) =>
    observe({ kind: 'clock-skewed', senderHost, workerHost }),
  );
}

function forgetPartsOf(task: Task, window: ReorderingWindow, revokers: Revokers): void {
  window.flush(task);
  revokers.clear(task);
}

/** Applies the held events that are due, and makes room for the memory that they add to tasks. */
function* release(window: ReorderingWindow, tasks: TaskTable, untilMs: number): Steps {
  let isMore = true;
  while (isMore) {
    isMore = window.release(untilMs, RELEASED_PER_STEP);
    do yield;
    while (!tasks.makeRoom(untilMs));
  }
}

interface Parts extends Pick<LifeContext, 'tasks' | 'workers' | 'skews' | 'queues' | 'listener'> {
  readonly window: ReorderingWindow;
  readonly ends: LastEnds;
  readonly extras: HeldExtras | undefined;
}

function tablesOf(
  settings: ClusterSettings,
  { tasks, workers, window, skews, listener, extras }: Parts,
): ClusterTables {
  return {
    tasks: stateOf(withListenerMemory(tasks, listener), settings.tasksMax, tasks.evicted),
    workers: stateOf(workers, settings.workersMax, workers.evicted),
    reordering_window: stateOf(withListenerMemory(window, extras), settings.heldMax, window.releasedEarly),
    clock_skews: stateOf(skews, settings.skewPairsMax, skews.notAdmitted),
  };
}

function beyondFixedBounds({ tasks, workers, window, queues, ends, listener, extras }: Parts): number {
  const textsLeftOut = (listener?.textsLeftOut ?? 0) + (extras?.leftOut ?? 0);
  const eventsAndParts = tasks.partsEvicted + window.releasedEarlyPerTask + workers.beyondFixedBounds;
  return eventsAndParts + queues.notAdmitted + ends.notAdmitted + textsLeftOut;
}

type Table = Pick<TableState, 'size' | 'bytes' | 'bytesMax'>;

function stateOf({ size, bytes, bytesMax }: Table, limit: number, evicted: number): TableState {
  return { size, limit, evicted, bytes, bytesMax };
}

/** The table with the memory that is used for a listener of runs. */
function withListenerMemory({ size, bytes, bytesMax }: Table, more: Omit<Table, 'size'> | undefined): Table {
  return { size, bytes: bytes + (more?.bytes ?? 0), bytesMax: bytesMax + (more?.bytesMax ?? 0) };
}

/** Applies a `task-sent`. It is not held, since its count does not depend on other events; clients send it, not workers. */
function applySending(context: LifeContext, event: TaskSent, listenedMs: number): void {
  const task = context.tasks.task(event.uuid, listenedMs, true);
  const reportedMs = event.implausibleMs ?? event.timestampMs;
  const eventPrint = fingerprint(SENT_RANK, event.pid, event.clock, reportedMs);
  if (!context.tasks.isRepeat(task, eventPrint)) sent(context, task, event, listenedMs);
}
