/**
 * What is remembered of one run of a task, and of one sending of it: only what later events need, since there are a hundred
 * thousand. It holds data and decides nothing.
 */

import type { RunIdentity } from '../observation.ts';
import type { Cohort } from '../settling/cohorts.ts';
import type { WorkerInstance } from '../workers/worker-instance.ts';
import { marked } from './marks.ts';
import { isEndExpected, type Standing, type StandingFact, standingAfter } from './standing.ts';

const SCHEDULED = 1;
const STARTED = 2;
const IMPLAUSIBLE = 4;
const REPORTED = 8;
/** Above the marks. */
const PLACE_SHIFT = 4;
const MARKS = (1 << PLACE_SHIFT) - 1;

/** A run waits for its ETA (`scheduled`), waits for a free pool slot, or has started. */
export type Stage = 'scheduled' | 'waiting' | 'started';

/** One run of a task, from its `task-received` to its first end. */
export class Run {
  /** The names it is counted under. They never change, so that all counters of a run agree. */
  identity: RunIdentity;
  /** The process that has it. */
  instance: WorkerInstance;
  #marks = 0;
  #standing: Standing = 'expected';
  /** By the worker’s clock, epoch ms: the receipt (or the ETA, if later) while it waits, then the start. */
  sinceMs = Number.NaN;
  /** When it was sent, or its ETA if later, by the sender’s clock, epoch ms; undefined if unknown, or once it has started. */
  dueMs: number | undefined = undefined;
  /** When it expires unless it has started, epoch ms. */
  expiresMs: number | undefined = undefined;
  /** Nodename of the sender; '' if unknown. */
  sender = '';
  /** The number of the broker connection that its last event arrived on. */
  session = 0;
  /** How often the task had been retried before, by its receipt. */
  retries = 0;
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

  /** Its worker reported that it is running, and its first events have not arrived. */
  get isReported(): boolean {
    return (this.#marks & REPORTED) !== 0;
  }
  set isReported(isReported: boolean) {
    this.#marks = marked(this.#marks, REPORTED, isReported);
  }

  /** `sinceMs` if a duration can be computed from it. */
  get plausibleSinceMs(): number | undefined {
    return this.implausibleTime ? undefined : this.sinceMs;
  }

  /** The place of its last event in the arrivals of its pid; among the marks, since a field would cost eight bytes. */
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

  /** A fact about it has become known: changes its standing by the table. */
  note(fact: StandingFact): void {
    this.#standing = standingAfter(this.#standing, fact);
  }

  /** Resets it to a new run of that process. */
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
  name = '';
  queue = '';
  retries = 0;
  /** By the sender's clock, epoch ms. */
  sentMs = Number.NaN;
  /** The sender’s timestamp is implausible: `sentMs` is when the event arrived. */
  implausibleTime = false;
  etaMs: number | undefined = undefined;
  expiresMs: number | undefined = undefined;
  /** The broker delays it until its ETA (native delayed delivery). */
  delayed = false;
  /** The number of the broker connection that it arrived on: after a gap it may have been received and have ended. */
  session = 0;
  /** Nodename of the sender. */
  sender = '';
  /** The cohort in its queue; undefined while the broker delays it, or if its queue is unknown. */
  cohort: Cohort | undefined = undefined;
  next: Sending | undefined = undefined;

  /** `sentMs` if a duration can be computed from it. */
  get plausibleMs(): number | undefined {
    return this.implausibleTime ? undefined : this.sentMs;
  }

  /** When it was sent, or its ETA if later; if a duration can be computed from it. */
  get plausibleDueMs(): number | undefined {
    return this.implausibleTime ? undefined : Math.max(this.sentMs, this.etaMs ?? this.sentMs);
  }

  /** It no longer waits: frees its texts. @param isReceived whether a worker has it */
  clear(isReceived: boolean): void {
    this.cohort?.leave(isReceived);
    this.cohort = undefined;
    this.name = '';
    this.queue = '';
    this.sender = '';
  }
}
