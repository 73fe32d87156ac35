/**
 * What a listener of runs is called with, where traces or logs need more of a run than is counted. Types only: the cluster works the
 * same without one, and a listener changes nothing in it.
 */
import type { ErrorTexts, TaskSent, TaskTraced } from '../../celery/event.ts';
import type { Outcome } from '../observation.ts';
import type { WindowSettings } from '../window/reordering-window.ts';
import type { Run, Sending } from './run.ts';
import type { HeldEvent, Task } from './task.ts';

/** What an event reported of the end of a run. */
export interface EndOfRun {
  readonly outcome: Outcome;
  /** '' if it is no error. */
  readonly errorType: string;
  /** Epoch ms, by the clock of its worker; undefined if implausible. */
  readonly endedMs: number | undefined;
  readonly runtimeS: number | undefined;
  readonly error: ErrorTexts | undefined;
  readonly result: string;
}

/** Texts that are interned. */
export interface SentAs {
  readonly name: string;
  readonly queue: string;
  readonly sender: string;
  /** Without the bits of native delayed delivery. */
  readonly routingKey: string;
}

/** Its memory counts as that of the tables whose places it follows. */
export interface RunListener {
  /** The current time, epoch ms, by our clock. */
  nowMs: number;
  /** An upper estimate. */
  readonly bytes: number;
  readonly bytesMax: number;
  /** Texts for which there was no room. */
  readonly textsLeftOut: number;
  sent(task: Task, event: TaskSent, names: SentAs): void;
  /**
   * @param event that it begins with; undefined if its worker reported it
   * @param sending that it begins from, if known
   */
  began(task: Task, run: Run, event?: HeldEvent, sending?: Sending): void;
  /** A receipt: of the run that began with it, or of one that its worker reported before. */
  received(task: Task, run: Run, event: HeldEvent, queueTimeS: number | undefined): void;
  started(task: Task, run: Run, waitTimeS: number | undefined, prefetchTimeS: number | undefined): void;
  /** A worker reported in which span it runs the task. */
  traced(event: TaskTraced): void;
  /** An end of the run is observed. */
  ended(task: Task, run: Run, end: EndOfRun): void;
  /** The run is over without an event; an end that arrives after all is not reported. */
  over(task: Task, run: Run, outcome: 'lost' | 'replaced', endedMs: number | undefined): void;
  /** Its end may have been missed. @param sinceMs by the clock of its worker if possible */
  doubted(task: Task, run: Run, sinceMs: number | undefined): void;
  /** The run is removed for lack of room. */
  dropped(task: Task, run: Run): void;
  /** The run is removed, with nothing left to report. */
  closed(task: Task, run: Run): void;
  /** The sendings of the task may wait. @param silentMs how long ago its last event arrived */
  waits(task: Task, silentMs: number, nowMs: number): void;
  /** Nothing more is expected of the task; it may still come. */
  expectsNoMore(task: Task, listenedMs: number): void;
  /** No event of the task has arrived for so long that none is expected. */
  givenUp(task: Task): void;
  forget(task: Task): void;
  /** Reports what has not been expected for long. @returns whether there is more */
  settle(listenedMs: number, max: number): boolean;
}

/** What a listener needs of the task table. */
export interface KnownTasks {
  readonly find: (id: string) => Task | undefined;
  readonly idOf: (task: Task) => string;
}

export type OpenRunListener = (
  tasks: KnownTasks,
  settings: Pick<WindowSettings, 'windowMs'> & { readonly tasksMax: number },
) => RunListener;
