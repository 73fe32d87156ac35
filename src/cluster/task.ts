/**
 * What is remembered of one task: only what later events need, since there are a hundred thousand. It holds data and
 * decides nothing. Each field costs eight bytes, and one with fractional numbers sixteen more.
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
  /** Its id, unless its numbers say it: those of a uuid do. */
  text = '';
  /** The last known name, from task-sent or task-received; '' before that. */
  name = '';
  /** The last known queue; '' before that. */
  queue = '';
  /** The runs that have not ended, oldest first. */
  runs: Run | undefined = undefined;
  /** The sendings that have no run yet, oldest first. */
  sendings: Sending | undefined = undefined;
  /** The events in the reordering window, in the order in which they happened. */
  held: HeldEvent | undefined = undefined;
  /** Its neighbours in its list of the table. */
  older: Task | undefined = undefined;
  newer: Task | undefined = undefined;
  /** Its index in the table’s typed arrays. */
  readonly place: number;
  #marks = 0;

  constructor(place: number) {
    this.place = place;
  }

  /** Its last end was final: another end without an open run is a duplicate. */
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

  /** No more events are expected: it can be forgotten without loss. */
  get forgettable(): boolean {
    return (this.#marks & FORGETTABLE) !== 0;
  }
  set forgettable(forgettable: boolean) {
    this.#marks = marked(this.#marks, FORGETTABLE, forgettable);
  }

  /** It was sent, and no worker has received it yet. */
  get sent(): boolean {
    return (this.#marks & SENT) !== 0;
  }
  set sent(sent: boolean) {
    this.#marks = marked(this.#marks, SENT, sent);
  }

  /** Its bytes beyond the entry, when last counted; among the marks, since a field would cost eight bytes. */
  get weight(): number {
    return this.#marks >>> WEIGHT_SHIFT;
  }
  set weight(bytes: number) {
    this.#marks = (bytes << WEIGHT_SHIFT) | (this.#marks & MARKS);
  }

  /** Resets it to a new task. */
  begin(text: string): void {
    this.text = text;
    this.name = '';
    this.queue = '';
    this.#marks = 0;
  }
}

/** The task events that workers send. */
export type WorkerTaskEvent = Exclude<TaskEvent, TaskSent>;

/**
 * A task event in the reordering window. All types share one flat shape, so that an object can be reused for another event.
 */
export class HeldEvent {
  task: Task;
  instance: WorkerInstance;
  type: WorkerTaskEvent['type'] = 'task-received';
  /** By the worker's clock, epoch ms. */
  timestampMs = 0;
  /** The worker’s timestamp is implausible: `timestampMs` is when the event arrived. */
  implausibleTime = false;
  clock = -1;
  /** In listened time, ms. */
  arrivedAtMs = 0;
  /** Its place in the arrivals of its pid. */
  place = 0;
  /** The next of its task, in the order in which they happened. */
  next: HeldEvent | undefined = undefined;
  /** The ones that arrived before and after it. */
  previousArrived: HeldEvent | undefined = undefined;
  nextArrived: HeldEvent | undefined = undefined;
  /** Of a receipt, like the next three; '' if not known. */
  name = '';
  retries = 0;
  etaMs: number | undefined = undefined;
  expiresMs: number | undefined = undefined;
  /** Of a success. */
  runtimeS: number | undefined = undefined;
  /** Of a failure or a retry. */
  errorType = '';
  /** Of an end. */
  outcome: Outcome = 'succeeded';
  /** Of a receipt, if it was requested. */
  lineage: Lineage | undefined = undefined;

  constructor(task: Task, instance: WorkerInstance) {
    this.task = task;
    this.instance = instance;
  }

  /** `timestampMs` if a duration can be computed from it. */
  get plausibleMs(): number | undefined {
    return this.implausibleTime ? undefined : this.timestampMs;
  }

  /** Copies the event. Fields that its type does not have keep old values, which are never read. */
  fill(event: WorkerTaskEvent, task: Task, instance: WorkerInstance, arrivedAtMs: number): void {
    this.task = task;
    this.instance = instance;
    this.type = event.type;
    this.timestampMs = event.timestampMs;
    this.implausibleTime = event.implausibleMs !== undefined;
    this.clock = event.clock;
    this.arrivedAtMs = arrivedAtMs;
    this.place = instance.arrivals.last;
    this.next = this.previousArrived = this.nextArrived = undefined;
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
        // Celery may report a rejection as a failure; a `task-rejected` that follows repeats it.
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
