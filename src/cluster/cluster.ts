/**
 * One Celery cluster as its events tell of it: applies each event to the tasks and workers known and says what follows
 * from it. Pure and bounded: no I/O, no clock of its own; time comes in with each call.
 */
import type { CeleryEvent, TaskSent } from '../celery/event.ts';
import { type Answers, answersAbout } from './answers.ts';
import { ClockSkews } from './clock-skew.ts';
import { rankOf } from './event-order.ts';
import { fingerprint, hashOf } from './fingerprint.ts';
import { FinishedRuns } from './finished-runs.ts';
import type { Moment } from './moment.ts';
import { Names } from './names.ts';
import type { ClusterView, FinishedRun, Observe } from './observation.ts';
import { QueueTable } from './queue-table.ts';
import { ReorderingWindow, type WindowSettings } from './reordering-window.ts';
import { settle } from './settling.ts';
import type { Steps } from './steps.ts';
import type { WorkerTaskEvent } from './task.ts';
import { happened, type LifeSurroundings, sent } from './task-life.ts';
import { TaskTable } from './task-table.ts';
import { view } from './view.ts';
import { type WorkerSettings, WorkerTable } from './worker-table.ts';

export interface ClusterSettings extends WorkerSettings, WindowSettings {
  /** Tasks remembered at most, of some length each; beyond it one is forgotten, preferably one that is over. */
  readonly tasksMax: number;
  /** Pairs of hosts whose clocks differ, known by name at most; all others are counted together. */
  readonly skewPairsMax: number;
}

/** What is bounded, by its name in the bridge's own metrics. */
export type ClusterTable = 'tasks' | 'workers' | 'reordering_window' | 'clock_skews';

export interface TableState {
  readonly size: number;
  /**
   * Entries that gave way to others while they were still needed: unfinished tasks, workers, events that left the window
   * before their time, skews that were counted without the names of their hosts.
   */
  readonly evicted: number;
  /** Bytes of memory that it takes, at most. */
  readonly bytes: number;
  /** Bytes that it has room for: beyond them entries give way to others, however few there are. */
  readonly bytesMax: number;
}

export type ClusterTables = Readonly<Record<ClusterTable, TableState>>;

export interface Cluster extends Answers {
  /**
   * Takes one event; what is to be measured of it is observed within a window.
   * @param wallMs when it reached us, epoch ms
   * @param listenedMs the same in listened time
   */
  apply(event: CeleryEvent, wallMs: number, listenedMs: number): void;
  /**
   * Observes what has waited long enough and what time alone brings about. After a burst there is so much of it that it is
   * done in steps: events may be applied between them. One at a time, and each to its end.
   * @param now asked when the time is needed
   * @returns the nodenames of workers forgotten since the last time, so that nothing need be kept of them
   */
  settle(now: () => Moment): Steps<readonly string[]>;
  /**
   * Says what is true, and changes nothing: any number at a time, also while events are applied or things are settled. Steps
   * that are not done to their end are to be closed with `return()`.
   * @param now asked when the time is needed
   */
  view(now: () => Moment): Steps<ClusterView>;
  /** Nothing more comes for now: observes the events of tasks that still wait. */
  drain(): Steps;
  /** Events may have been missed until now: another connection begins. */
  gap(): void;
  /** Observes everything that still waits: nothing more will come. */
  flush(): void;
  tables(): ClusterTables;
  /**
   * How much was dropped, or counted early, because of bounds that are no option and that no sane cluster reaches: runs
   * and sendings of one task, events of it that wait in the window, words of workers that wait, processes under one
   * nodename, and idle queues.
   */
  beyondFixedBounds(): number;
}

/** What has waited long enough is observed with the events that follow, each of which takes this much of it along. */
const RELEASED_PER_EVENT = 2;
/** Events; some ms where each of them has a name that was never heard of. */
const RELEASED_A_STEP = 100;

/** Not among those of `rankOf`. */
const SENT_RANK = 0;

/**
 * @param observe told of each fact once, on the stack of the call that brought it out
 * @param onFinished told of each end of a run that is observed, just before; what is kept for it costs memory and time
 */
export function createCluster(
  settings: ClusterSettings,
  observe: Observe,
  onFinished?: (run: FinishedRun) => void,
): Cluster {
  const finished = onFinished && new FinishedRuns(onFinished);
  const workers = new WorkerTable(settings, { windowMs: settings.windowMs, observe });
  const tasks = new TaskTable(settings.tasksMax, (task) => window.flush(task), finished);
  const skews = new ClockSkews(settings.skewPairsMax, (senderHost, workerHost) =>
    observe({ kind: 'clock-skewed', senderHost, workerHost }),
  );
  const names = new Names();
  const queues = new QueueTable(settings.seriesRetentionMs);
  const around: LifeSurroundings = { tasks, workers, queues, skews, names, observe, finished };
  const window = new ReorderingWindow(settings, (event) => happened(around, event), names);

  function hold(event: WorkerTaskEvent, wallMs: number, listenedMs: number): void {
    const instance = workers.instance(event, wallMs, listenedMs);
    const task = tasks.task(event.uuid, listenedMs);
    const { type, clock, timestampMs, implausibleMs } = event;
    const print = fingerprint(rankOf(type), instance.hash, clock, implausibleMs ?? timestampMs);
    if (tasks.isRepeat(task, print)) return;
    if (type === 'task-started') instance.started(timestampMs, implausibleMs !== undefined, clock);
    window.hold(event, task, instance, listenedMs);
  }

  function* release(untilMs: number): Steps {
    while (window.release(untilMs, RELEASED_A_STEP)) {
      tasks.makeRoom(untilMs);
      yield;
    }
  }

  return {
    apply(event, wallMs, listenedMs) {
      window.release(listenedMs, RELEASED_PER_EVENT);
      workers.release(listenedMs, RELEASED_PER_EVENT);
      switch (event.type) {
        case 'worker-online':
        case 'worker-heartbeat':
        case 'worker-offline':
          return workers.signal(event, wallMs, listenedMs);
        case 'task-sent':
          return applySending(around, event, listenedMs);
        default:
          hold(event, wallMs, listenedMs);
      }
    },
    *settle(now) {
      yield* release(now().listenedMs);
      return yield* settle({ tasks, workers, queues, observe, finished }, now);
    },
    view: (now) => view({ tasks, workers, queues }, now),
    drain: () => release(Number.POSITIVE_INFINITY),
    gap() {
      window.flush();
      workers.gap();
    },
    flush() {
      window.flush();
      workers.flush();
    },
    ...answersAbout(workers),
    tables: () => tablesOf(tasks, workers, window, skews),
    beyondFixedBounds: () =>
      tasks.partsEvicted + window.releasedEarlyPerTask + workers.beyondFixedBounds + queues.notAdmitted,
  };
}

function tablesOf(
  tasks: TaskTable,
  workers: WorkerTable,
  window: ReorderingWindow,
  skews: ClockSkews,
): ClusterTables {
  return {
    tasks: stateOf(tasks, tasks.evicted),
    workers: stateOf(workers, workers.evicted),
    reordering_window: stateOf(window, window.releasedEarly),
    clock_skews: stateOf(skews, skews.notAdmitted),
  };
}

function stateOf({ size, bytes, bytesMax }: Omit<TableState, 'evicted'>, evicted: number): TableState {
  return { size, evicted, bytes, bytesMax };
}

/** It is told by clients, which are no workers; and whatever else comes of the task, it is counted as it is. */
function applySending(around: LifeSurroundings, event: TaskSent, listenedMs: number): void {
  const task = around.tasks.sentTask(event.uuid, listenedMs);
  const toldMs = event.implausibleMs ?? event.timestampMs;
  const print = fingerprint(SENT_RANK, hashOf(event.hostname), event.clock, toldMs);
  if (!around.tasks.isRepeat(task, print)) sent(around, task, event, listenedMs);
}
