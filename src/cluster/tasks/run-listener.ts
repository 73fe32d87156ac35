/**
 * The interface of a listener of runs, for traces and logs, which need more of a run than is counted. Types only: the cluster
 * works the same without a listener, and a listener changes nothing in the cluster.
 */
import type { ErrorTexts, TaskSent, TaskTraced } from '../../celery/event.ts';
import type { Outcome } from '../observation.ts';
import type { WindowSettings } from '../window/reordering-window.ts';
import type { Run, Sending } from './run.ts';
import type { HeldEvent, Task } from './task.ts';

/** The end of a run, as its event reported it. */
export interface EndOfRun {
  readonly outcome: Outcome;
  /** The class of the exception; '' if the run neither failed nor is retried. */
  readonly errorType: string;
  /** When the run ended, epoch ms, by the clock of its worker; undefined if implausible. */
  readonly endedMs: number | undefined;
  readonly runtimeS: number | undefined;
  readonly error: ErrorTexts | undefined;
  readonly result: string;
}

/** The interned names in a `task-sent`; '' if unknown. */
export interface SentAs {
  readonly name: string;
  readonly queue: string;
  readonly sender: string;
  /** The routing key without the prefix that native delayed delivery adds. */
  readonly routingKey: string;
}

/** A listener keeps its data by the places of the task table, and its memory counts as memory of that table. */
export interface RunListener {
  /** The current time, epoch ms, by our clock; set by the cluster. */
  nowMs: number;
  /** The memory of the listener in bytes, an upper estimate, and its limit. */
  readonly bytes: number;
  readonly bytesMax: number;
  /** How many texts were left out since the start because there was no room. */
  readonly textsLeftOut: number;
  /** A `task-sent` has arrived. */
  sent(task: Task, event: TaskSent, names: SentAs): void;
  /**
   * A run has begun.
   * @param event its first event; undefined if its worker reported the run in a reply
   * @param sending the sending that the run received; undefined if unknown
   */
  began(task: Task, run: Run, event?: HeldEvent, sending?: Sending): void;
  /** The run was received; it has just begun, or its worker reported it before. */
  received(task: Task, run: Run, event: HeldEvent, queueTimeS: number | undefined): void;
  /** The run has started. The times are those of the observation `task-started`. */
  started(task: Task, run: Run, waitTimeS: number | undefined, prefetchTimeS: number | undefined): void;
  /** A worker reported in which span it runs the task. */
  traced(event: TaskTraced): void;
  /** The run has ended with an event. */
  ended(task: Task, run: Run, end: EndOfRun): void;
  /** The run is over without an event: its process died, or another task replaced it. The listener ignores a later end. */
  over(task: Task, run: Run, outcome: 'lost' | 'redelivered' | 'replaced', endedMs: number | undefined): void;
  /**
   * No end of the run is expected any more.
   * @param sinceMs since when, by the clock of its worker if possible, epoch ms
   * @param isCertain whether it is certain that this run is over, and not another one of its worker
   */
  doubted(task: Task, run: Run, sinceMs: number | undefined, isCertain: boolean): void;
  /** The run is removed for lack of room. */
  dropped(task: Task, run: Run): void;
  /** The run is removed, with nothing left to report. */
  closed(task: Task, run: Run): void;
  /** The sendings of the task may still wait. @param silentMs how long ago the last event of the task arrived */
  waits(task: Task, silentMs: number, nowMs: number): void;
  /** No more events of the task are expected, although some may still arrive. */
  expectsNoMore(task: Task, listenedMs: number): void;
  /** No event of the task has arrived for so long that none is expected. */
  givenUp(task: Task): void;
  /** The task is forgotten for lack of room. */
  forget(task: Task): void;
  /** Reports the runs of up to `max` tasks that have not been expected to end for long. @returns whether there are more */
  settle(listenedMs: number, max: number): boolean;
}

/** The part of the task table that a listener uses. */
export interface KnownTasks {
  readonly find: (id: string) => Task | undefined;
  readonly idOf: (task: Task) => string;
}

export type OpenRunListener = (
  tasks: KnownTasks,
  settings: Pick<WindowSettings, 'windowMs'> & { readonly tasksMax: number },
) => RunListener;
