/**
 * What is remembered of one task: only what later events of it need, since there are a hundred thousand. It holds data
 * and decides nothing. Each field costs eight bytes, and one that is always a number with fractions sixteen more.
 */
import type { TaskEvent, TaskRevoked, TaskSent } from '../celery/event.ts';
import type { Revocation, RunIdentity } from './observation.ts';
import type { WorkerInstance } from './worker-instance.ts';

const OVER = 1;
const REVOKED = 2;
const LOST = 4;
const FORGETTABLE = 8;
const SENT = 16;
/** Above the marks. */
const WEIGHT_SHIFT = 5;
const MARKS = (1 << WEIGHT_SHIFT) - 1;

/** A function, since a private method costs each object eight bytes. */
function marked(marks: number, mark: number, set: boolean): number {
  return set ? marks | mark : marks & ~mark;
}

export class Task {
  uuid = '';
  /** The name that was told last, by task-sent or task-received; '' until one was seen. */
  name = '';
  /** The queue that was told last; '' until one was seen. */
  queue = '';
  /** The runs that have not ended, oldest first. */
  runs: Run | undefined = undefined;
  /** The sendings that no run has begun from yet, oldest first. */
  sendings: Sending | undefined = undefined;
  /** The events that wait in the reordering window, in the order in which they happened. */
  held: HeldEvent | undefined = undefined;
  /** Its neighbours in its list of the table. */
  older: Task | undefined = undefined;
  newer: Task | undefined = undefined;
  /** Where the table keeps what is no object. */
  readonly place: number;
  #marks = 0;

  constructor(place: number) {
    this.place = place;
  }

  /** Its last end was final: another end without an open run repeats that one. */
  get over(): boolean {
    return (this.#marks & OVER) !== 0;
  }
  set over(over: boolean) {
    this.#marks = marked(this.#marks, OVER, over);
  }

  /** A revocation of it was counted. */
  get revoked(): boolean {
    return (this.#marks & REVOKED) !== 0;
  }
  set revoked(revoked: boolean) {
    this.#marks = marked(this.#marks, REVOKED, revoked);
  }

  /** It was counted as lost. */
  get lost(): boolean {
    return (this.#marks & LOST) !== 0;
  }
  set lost(lost: boolean) {
    this.#marks = marked(this.#marks, LOST, lost);
  }

  /** Nothing more is expected of it: to forget it is no loss. */
  get forgettable(): boolean {
    return (this.#marks & FORGETTABLE) !== 0;
  }
  set forgettable(forgettable: boolean) {
    this.#marks = marked(this.#marks, FORGETTABLE, forgettable);
  }

  /** It was sent, and no run of it has begun. */
  get sent(): boolean {
    return (this.#marks & SENT) !== 0;
  }
  set sent(sent: boolean) {
    this.#marks = marked(this.#marks, SENT, sent);
  }

  /** Bytes that it takes beyond its entry, as they were counted last; among the marks, since a field would be eight. */
  get weight(): number {
    return this.#marks >>> WEIGHT_SHIFT;
  }
  set weight(bytes: number) {
    this.#marks = (bytes << WEIGHT_SHIFT) | (this.#marks & MARKS);
  }

  /** Makes it a task of which nothing is known. */
  begin(uuid: string): void {
    this.uuid = uuid;
    this.name = '';
    this.queue = '';
    this.#marks = 0;
  }
}

/** How far a run has come: it waits for an ETA of its own, or for a free slot, or it has started. */
export type Stage = 'scheduled' | 'waiting' | 'started';

/**
 * Whether an end of a run is expected. `redelivered`: yes, but another process was given the task too, so that it is not
 * lost with this one. Of all others none is expected, but if one is told, it is the run's. `replaced`: another task took
 * its place under the same uuid. `doubted`: it may have ended without a word: its worker says that it runs fewer tasks
 * than are known, or events of it may have been missed. `lost`: it ran when its process died, and was counted so. `gone`:
 * its process died, or another was given the task before it began.
 */
export type Standing = 'expected' | 'redelivered' | 'replaced' | 'doubted' | 'lost' | 'gone';

/** One execution of a task, from its `task-received` to its first end. */
export class Run {
  /** What it is counted as, from the first time on: whatever is learned later, all counters of a run agree. */
  identity: RunIdentity;
  /** The instance that has it. */
  instance: WorkerInstance;
  stage: Stage = 'waiting';
  standing: Standing = 'expected';
  /** By the worker's clock, epoch ms: of the receipt (or the ETA, if later) while it waits, then of the start. */
  sinceMs = Number.NaN;
  /** By the sender's clock, epoch ms: of the sending (or the ETA, if later), until it starts; where that is known. */
  askedMs: number | undefined = undefined;
  /** When nobody may begin it any more, epoch ms. */
  expiresMs: number | undefined = undefined;
  /** Nodename of whoever sent it; '' where that is not known. */
  sender = '';
  /** The connection to the broker on which it was told of last, counted. */
  session = 0;
  next: Run | undefined = undefined;

  constructor(instance: WorkerInstance, identity: RunIdentity) {
    this.instance = instance;
    this.identity = identity;
  }

  get hasStarted(): boolean {
    return this.stage === 'started';
  }

  get isExpected(): boolean {
    return this.standing === 'expected' || this.standing === 'redelivered';
  }

  /** Makes it a run of which nothing is known but who has it and what it is. */
  begin(instance: WorkerInstance, identity: RunIdentity): void {
    this.identity = identity;
    this.instance = instance;
    this.session = instance.lastSession;
    this.stage = 'waiting';
    this.standing = 'expected';
    this.sinceMs = Number.NaN;
    this.askedMs = undefined;
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
  etaMs: number | undefined = undefined;
  expiresMs: number | undefined = undefined;
  /** The broker itself holds it back until its ETA (native delayed delivery). */
  delayed = false;
  /** The connection to the broker on which it came, counted: after another it may have been received and have ended. */
  session = 0;
  /** Nodename of whoever sent it. */
  sender = '';
  next: Sending | undefined = undefined;

  /** Keeps no text in memory. */
  clear(): void {
    this.name = '';
    this.queue = '';
    this.sender = '';
  }
}

/** What workers tell of tasks. */
export type WorkerTaskEvent = Exclude<TaskEvent, TaskSent>;

/**
 * A worker's event of a task as it waits in the reordering window. It is one flat shape for all types, so that an object
 * can be filled again with another event.
 */
export class HeldEvent {
  task: Task;
  instance: WorkerInstance;
  type: WorkerTaskEvent['type'] = 'task-received';
  /** By the worker's clock, epoch ms. */
  timestampMs = 0;
  clock = -1;
  /** When it reached us, in listened time, ms. */
  arrivedAtMs = 0;
  /** It has left the window before its turn. */
  released = false;
  /** The next of its task, in the order in which they happened. */
  next: HeldEvent | undefined = undefined;
  /** The one that reached us next. */
  nextArrived: HeldEvent | undefined = undefined;
  /** Of a receipt; '' where it is not told. */
  name = '';
  /** Of a receipt. */
  retries = 0;
  /** Of a receipt. */
  etaMs: number | undefined = undefined;
  /** Of a receipt. */
  expiresMs: number | undefined = undefined;
  /** Of a success. */
  runtimeS: number | undefined = undefined;
  /** Of a failure or a retry. */
  errorType = '';
  /** Of a failure: it is a rejection, told as one. */
  rejection = false;
  /** Of a rejection. */
  requeue = false;
  /** Of a revocation. */
  revocation: Revocation = 'revoked';

  constructor(task: Task, instance: WorkerInstance) {
    this.task = task;
    this.instance = instance;
  }

  /** Takes over what the event says; what an event of its type does not have stays as it is, and nobody reads it. */
  fill(event: WorkerTaskEvent, task: Task, instance: WorkerInstance, arrivedAtMs: number): void {
    this.task = task;
    this.instance = instance;
    this.type = event.type;
    this.timestampMs = event.timestampMs;
    this.clock = event.clock;
    this.arrivedAtMs = arrivedAtMs;
    this.released = false;
    this.next = undefined;
    this.nextArrived = undefined;
    switch (event.type) {
      case 'task-received':
        this.name = event.name;
        this.retries = event.retries;
        this.etaMs = event.etaMs;
        this.expiresMs = event.expiresMs;
        break;
      case 'task-succeeded':
        this.runtimeS = event.runtimeS;
        break;
      case 'task-failed':
        this.errorType = event.errorType;
        this.rejection = event.rejection;
        break;
      case 'task-retried':
        this.errorType = event.errorType;
        break;
      case 'task-rejected':
        this.requeue = event.requeue;
        break;
      case 'task-revoked':
        this.revocation = revocationOf(event);
        break;
      case 'task-started':
      case 'task-cancelled':
        break;
    }
  }
}

function revocationOf(event: TaskRevoked): Revocation {
  if (event.terminated) return 'terminated';
  return event.expired ? 'expired' : 'revoked';
}
