/**
 * What is remembered of one task: only what later events need, since there are a hundred thousand. It holds data and
 * decides nothing. Each field costs eight bytes, and one with fractional numbers sixteen more.
 */
import type { Extras, TaskEvent, TaskRevoked, TaskSent, TaskTraced } from '../../celery/event.ts';
import type { Outcome, Revocation } from '../observation.ts';
import {
  ARRIVED,
  CLOCK,
  ETA,
  EXPIRES,
  type HeldNumbers,
  known,
  PLACE,
  RETRIES,
  RUNTIME,
  TIMESTAMP,
} from '../window/held-numbers.ts';
import type { WorkerInstance } from '../workers/worker-instance.ts';
import { marked } from './marks.ts';
import type { Run, Sending } from './run.ts';

/** A receipt has no runtime, and uses its place. */
const HAS_NO_PARENT = RUNTIME;

const OVER = 1;
const LOST = 2;
const FORGETTABLE = 4;
const SENT = 8;
/** Above the marks. */
const WEIGHT_SHIFT = 4;
const MARKS = (1 << WEIGHT_SHIFT) - 1;

export class Task {
  /** Its id, unless it is a uuid, which its numbers contain. */
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

/** The task events that workers send about their tasks. */
export type WorkerTaskEvent = Exclude<TaskEvent, TaskSent | TaskTraced>;

/**
 * A task event in the reordering window. All types share one flat shape, so that an object can be reused for another event.
 */
export class HeldEvent {
  task: Task;
  instance: WorkerInstance;
  type: WorkerTaskEvent['type'] = 'task-received';
  /** The worker’s timestamp is implausible: `timestampMs` is when the event arrived. */
  implausibleTime = false;
  /** The next of its task, in the order in which they happened. */
  next: HeldEvent | undefined = undefined;
  /** The ones that arrived before and after it. */
  previousArrived: HeldEvent | undefined = undefined;
  nextArrived: HeldEvent | undefined = undefined;
  /** The task's name in a receipt, the class of the error in a failure or a retry; '' if unknown. */
  text = '';
  /** Of a failure, if it contains what no other event of the task does. */
  name = '';
  /** Of an end. */
  outcome: Outcome = 'succeeded';
  /** If enabled. */
  extras: Extras | undefined = undefined;
  readonly #numbers: Float64Array;
  readonly #from: number;

  constructor(task: Task, instance: WorkerInstance, numbers: HeldNumbers) {
    this.task = task;
    this.instance = instance;
    numbers.makeRoom();
    this.#numbers = numbers.chunk;
    this.#from = numbers.from;
  }

  /** By the worker's clock, epoch ms. */
  get timestampMs(): number {
    return this.#numbers[this.#from + TIMESTAMP] ?? 0;
  }

  /** `timestampMs` if a duration can be computed from it. */
  get plausibleMs(): number | undefined {
    return this.implausibleTime ? undefined : this.timestampMs;
  }

  /** In listened time, ms. */
  get arrivedAtMs(): number {
    return this.#numbers[this.#from + ARRIVED] ?? 0;
  }

  /** -1 if unknown. */
  get clock(): number {
    return this.#numbers[this.#from + CLOCK] ?? 0;
  }

  /** Its place in the arrivals of its pid: an integer for V8 too, since a run keeps it, and a fraction would take more room. */
  get place(): number {
    return (this.#numbers[this.#from + PLACE] ?? 0) | 0;
  }

  /** Of a receipt, like the next three. */
  get retries(): number {
    return this.#numbers[this.#from + RETRIES] ?? 0;
  }

  get etaMs(): number | undefined {
    return known(this.#numbers[this.#from + ETA]);
  }

  get expiresMs(): number | undefined {
    return known(this.#numbers[this.#from + EXPIRES]);
  }

  get hasNoParent(): boolean {
    return this.#numbers[this.#from + HAS_NO_PARENT] === 1;
  }

  /** Of a success. */
  get runtimeS(): number | undefined {
    return known(this.#numbers[this.#from + RUNTIME]);
  }

  /** Copies the event. Fields that its type lacks keep old values, which are never read. */
  fill(event: WorkerTaskEvent, task: Task, instance: WorkerInstance, arrivedAtMs: number): void {
    this.task = task;
    this.instance = instance;
    this.type = event.type;
    this.implausibleTime = event.implausibleMs !== undefined;
    this.extras = event.extras;
    const values = this.#numbers;
    const from = this.#from;
    values[from + TIMESTAMP] = event.timestampMs;
    values[from + ARRIVED] = arrivedAtMs;
    values[from + CLOCK] = event.clock;
    values[from + PLACE] = instance.arrivals.last;
    switch (event.type) {
      case 'task-received':
        this.text = event.name;
        values[from + RETRIES] = event.retries;
        values[from + ETA] = event.etaMs ?? Number.NaN;
        values[from + EXPIRES] = event.expiresMs ?? Number.NaN;
        values[from + HAS_NO_PARENT] = event.hasNoParent ? 1 : Number.NaN;
        break;
      case 'task-succeeded':
        this.outcome = 'succeeded';
        values[from + RUNTIME] = event.runtimeS ?? Number.NaN;
        break;
      case 'task-failed':
        // Celery may report a rejection as a failure; a `task-rejected` that follows repeats it.
        this.outcome = event.rejection ? 'rejected' : 'failed';
        this.text = event.errorType;
        this.name = event.name ?? '';
        break;
      case 'task-retried':
        this.outcome = 'retried';
        this.text = event.errorType;
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

  /** Frees it: it keeps no data in memory but the given placeholders. */
  clear(task: Task, instance: WorkerInstance): void {
    this.task = task;
    this.instance = instance;
    this.text = '';
    this.extras = undefined;
    this.next = this.previousArrived = this.nextArrived = undefined;
  }
}

function revocationOf(event: TaskRevoked): Revocation {
  if (event.terminated) return 'terminated';
  return event.expired ? 'expired' : 'revoked';
}
