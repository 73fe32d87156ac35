/**
 * The memory of one run of a task, and of one sending of a task: only the data that later events need, since a hundred thousand
 * runs may be remembered. It decides nothing.
 */

import type { RunIdentity } from '../observation.ts';
import type { Cohort } from '../settling/cohorts.ts';
import type { WorkerInstance } from '../workers/worker-instance.ts';
import { marked } from './marks.ts';
import { isEndExpected, type Standing, type StandingFact, standingAfter } from './standing.ts';

/** The bits of `Run.#marks`. */
const SCHEDULED = 1;
const STARTED = 2;
const IMPLAUSIBLE = 4;
const REPORTED = 8;
/** The bits above the marks hold the place. */
const PLACE_SHIFT = 4;
const MARKS = (1 << PLACE_SHIFT) - 1;

/** A run waits for its ETA (`scheduled`), waits for a free pool slot, or has started. */
export type Stage = 'scheduled' | 'waiting' | 'started';

/** One run of a task, from its `task-received` to its first end. */
export class Run {
  /** The names that the run is counted under. They never change, so that all counters of a run agree. */
  identity: RunIdentity;
  /** The worker process that has the run. */
  instance: WorkerInstance;
  #marks = 0;
  #standing: Standing = 'expected';
  /** The receipt (or the ETA, if later) while the run waits, then its start; by the worker’s clock, epoch ms. */
  sinceMs = Number.NaN;
  /** The sending, or the ETA if later, by the sender’s clock, epoch ms; undefined if unknown, or once the run has started. */
  dueMs: number | undefined = undefined;
  /** When the task expires unless it has started, epoch ms; undefined if it does not expire. */
  expiresMs: number | undefined = undefined;
  /** Nodename of the sender; '' if unknown. */
  sender = '';
  /** The number of the broker connection on which the last event of the run arrived. */
  session = 0;
  /** How often the task had been retried before, according to its receipt. */
  retries = 0;
  /** The next newer run of the task. */
  next: Run | undefined = undefined;

  constructor(instance: WorkerInstance, identity: RunIdentity) {
    this.instance = instance;
    this.identity = identity;
  }

  get stage(): Stage {
    if (this.hasStarted) return 'started';
    return (this.#marks & SCHEDULED) === 0 ? 'waiting' : 'scheduled';
  }
  set stage(stage: Stage) {
    const others = this.#marks & ~(SCHEDULED | STARTED);
    this.#marks = others | (stage === 'started' ? STARTED : stage === 'scheduled' ? SCHEDULED : 0);
  }

  get hasStarted(): boolean {
    return (this.#marks & STARTED) !== 0;
  }

  /** The worker’s timestamp is implausible: `sinceMs` is when the event arrived. */
  get implausibleTime(): boolean {
    return (this.#marks & IMPLAUSIBLE) !== 0;
  }
  set implausibleTime(implausibleTime: boolean) {
    this.#marks = marked(this.#marks, IMPLAUSIBLE, implausibleTime);
  }

  /** The worker reported that it has the run, whose first events have not arrived. */
  get isReported(): boolean {
    return (this.#marks & REPORTED) !== 0;
  }
  set isReported(isReported: boolean) {
    this.#marks = marked(this.#marks, REPORTED, isReported);
  }

  /** `sinceMs`; undefined if no duration can be computed from it. */
  get plausibleSinceMs(): number | undefined {
    return this.implausibleTime ? undefined : this.sinceMs;
  }

  /** The number of its last event among the arrivals of its pid. It shares a field with the marks, to save eight bytes. */
  get place(): number {
    return this.#marks >>> PLACE_SHIFT;
  }
  set place(place: number) {
    this.#marks = (this.#marks & MARKS) | (place << PLACE_SHIFT);
  }

  get standing(): Standing {
    return this.#standing;
  }

  get isExpected(): boolean {
    return isEndExpected(this.#standing);
  }

  /** Changes its standing according to the table, when this fact has become known. */
  noteFact(fact: StandingFact): void {
    this.#standing = standingAfter(this.#standing, fact);
  }

  /** Makes this object a new run of the process. */
  begin(instance: WorkerInstance, identity: RunIdentity): void {
    this.identity = identity;
    this.instance = instance;
    this.session = instance.lastSession;
    this.retries = 0;
    this.#marks = 0;
    this.#standing = 'expected';
    this.sinceMs = Number.NaN;
    this.dueMs = undefined;
    this.expiresMs = undefined;
    this.sender = '';
  }
}

/** One sending of a task, by a client or as a retry. */
export class Sending {
  /** The name and the queue of the task; '' if unknown. */
  name = '';
  queue = '';
  retries = 0;
  /** When the task was sent, by the sender's clock, epoch ms. */
  sentMs = Number.NaN;
  /** The sender’s timestamp is implausible: `sentMs` is when the event arrived. */
  implausibleTime = false;
  etaMs: number | undefined = undefined;
  expiresMs: number | undefined = undefined;
  /** Whether the broker delays the message until the ETA (native delayed delivery). */
  delayed = false;
  /** The number of the broker connection on which `task-sent` arrived: after a later gap, the task may have ended unseen. */
  session = 0;
  /** Nodename of the sender. */
  sender = '';
  /** Its group of sendings to the same queue; undefined while the broker delays the message, or if the queue is unknown. */
  cohort: Cohort | undefined = undefined;
  next: Sending | undefined = undefined;

  /** `sentMs`; undefined if no duration can be computed from it. */
  get plausibleMs(): number | undefined {
    return this.implausibleTime ? undefined : this.sentMs;
  }

  /** The sending, or the ETA if later, epoch ms; undefined if no duration can be computed from it. */
  get plausibleDueMs(): number | undefined {
    return this.implausibleTime ? undefined : Math.max(this.sentMs, this.etaMs ?? this.sentMs);
  }

  /** Leaves the cohort and frees the texts of a sending that no longer waits. @param isReceived whether a worker has the task */
  clear(isReceived: boolean): void {
    this.cohort?.leave(isReceived);
    this.cohort = undefined;
    this.name = '';
    this.queue = '';
    this.sender = '';
  }
}
