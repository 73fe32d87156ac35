/**
 * What is remembered of one task: only what later events of it need, since there are a hundred thousand. It holds data
 * and decides nothing. Each field costs eight bytes, and one that is always a number with fractions sixteen more.
 */
import type { Lineage, TaskEvent, TaskRevoked, TaskSent } from '../celery/event.ts';
import { marked } from './marks.ts';
import type { Outcome, Revocation } from './observation.ts';
import type { Run, Sending } from './run.ts';
import type { WorkerInstance } from './worker-instance.ts';

const OVER = 1;
const REVOKED = 2;
const LOST = 4;
const FORGETTABLE = 8;
const SENT = 16;
/** Above the marks. */
const WEIGHT_SHIFT = 5;
const MARKS = (1 << WEIGHT_SHIFT) - 1;

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
  /** `timestampMs` is when it was told: the time by the worker's clock is implausible. */
  implausibleTime = false;
  clock = -1;
  /** When it reached us, in listened time, ms. */
  arrivedAtMs = 0;
  /** Where among the events of its process it came. */
  place = 0;
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
  /** Of an end. */
  outcome: Outcome = 'succeeded';
  /** Of a receipt, where it was asked for. */
  lineage: Lineage | undefined = undefined;

  constructor(task: Task, instance: WorkerInstance) {
    this.task = task;
    this.instance = instance;
  }

  /** `timestampMs`, where a duration may be made of it. */
  get plausibleMs(): number | undefined {
    return this.implausibleTime ? undefined : this.timestampMs;
  }

  /** Takes over what the event says; what an event of its type does not have stays as it is, and nobody reads it. */
  fill(event: WorkerTaskEvent, task: Task, instance: WorkerInstance, arrivedAtMs: number): void {
    this.task = task;
    this.instance = instance;
    this.type = event.type;
    this.timestampMs = event.timestampMs;
    this.implausibleTime = event.implausibleMs !== undefined;
    this.clock = event.clock;
    this.arrivedAtMs = arrivedAtMs;
    this.place = instance.arrivals.last;
    this.released = false;
    this.next = undefined;
    this.nextArrived = undefined;
    switch (event.type) {
      case 'task-received':
        this.name = event.name;
        this.retries = event.retries;
        this.etaMs = event.etaMs;
        this.expiresMs = event.expiresMs;
        this.lineage = event.lineage;
        break;
      case 'task-succeeded':
        this.outcome = 'succeeded';
        this.runtimeS = event.runtimeS;
        break;
      case 'task-failed':
        // Told as a failure, it is the run's rejection; the `task-rejected` that may follow repeats it.
        this.outcome = event.rejection ? 'rejected' : 'failed';
        this.errorType = event.errorType;
        break;
      case 'task-retried':
        this.outcome = 'retried';
        this.errorType = event.errorType;
        break;
      case 'task-rejected':
        this.outcome = event.requeue ? 'requeued' : 'rejected';
        break;
      case 'task-revoked':
        this.outcome = revocationOf(event);
        break;
      case 'task-cancelled':
        this.outcome = 'cancelled';
        break;
      case 'task-started':
        break;
    }
  }
}

function revocationOf(event: TaskRevoked): Revocation {
  if (event.terminated) return 'terminated';
  return event.expired ? 'expired' : 'revoked';
}
