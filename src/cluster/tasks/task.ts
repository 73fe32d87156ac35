/**
 * The memory of one task: only the data that later events need, since a hundred thousand tasks may be remembered. It decides
 * nothing. Each field costs eight bytes, and a field with a fractional number sixteen more.
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

/** The place of `hasNoParent` of a receipt, which has no runtime. */
const HAS_NO_PARENT = RUNTIME;

/** The bits of `Task.#marks`. */
const OVER = 1;
const LOST = 2;
const FORGETTABLE = 4;
const SENT = 8;
/** The bits above the marks hold the weight. */
const WEIGHT_SHIFT = 4;
const MARKS = (1 << WEIGHT_SHIFT) - 1;

export class Task {
  /** The id of the task; '' if it is a uuid, which `TaskNumbers` contains. */
  text = '';
  /** The last known name of the task, from `task-sent` or `task-received`; '' if none is known. */
  name = '';
  /** The last known queue of the task; '' if none is known. */
  queue = '';
  /** The runs that have not ended, oldest first. */
  runs: Run | undefined = undefined;
  /** The sendings that have no run yet, oldest first. */
  sendings: Sending | undefined = undefined;
  /** Its events in the reordering window, in the order in which they happened. */
  held: HeldEvent | undefined = undefined;
  /** The neighbours of the task in its list of the task table. */
  older: Task | undefined = undefined;
  newer: Task | undefined = undefined;
  /** The index of the task in the typed arrays of the task table. */
  readonly place: number;
  #marks = 0;

  constructor(place: number) {
    this.place = place;
  }

  /** The last end of the task was final: another end without an open run is a duplicate. */
  get over(): boolean {
    return (this.#marks & OVER) !== 0;
  }
  set over(over: boolean) {
    this.#marks = marked(this.#marks, OVER, over);
  }

  /** The task was counted as lost. */
  get lost(): boolean {
    return (this.#marks & LOST) !== 0;
  }
  set lost(lost: boolean) {
    this.#marks = marked(this.#marks, LOST, lost);
  }

  /** No more events of the task are expected: it can be forgotten without loss. */
  get forgettable(): boolean {
    return (this.#marks & FORGETTABLE) !== 0;
  }
  set forgettable(forgettable: boolean) {
    this.#marks = marked(this.#marks, FORGETTABLE, forgettable);
  }

  /** The task was sent, and no worker has received it yet. */
  get sent(): boolean {
    return (this.#marks & SENT) !== 0;
  }
  set sent(sent: boolean) {
    this.#marks = marked(this.#marks, SENT, sent);
  }

  /** Its bytes beyond the entry, when last counted. They share a field with the marks, to save eight bytes. */
  get weight(): number {
    return this.#marks >>> WEIGHT_SHIFT;
  }
  set weight(bytes: number) {
    this.#marks = (bytes << WEIGHT_SHIFT) | (this.#marks & MARKS);
  }

  /** Makes this object a new task. @param text its id, if it is not a uuid; otherwise '' */
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
  /** The next held event of the same task, in the order in which they happened. */
  next: HeldEvent | undefined = undefined;
  /** The held events, of any task, that arrived before and after this one. */
  previousArrived: HeldEvent | undefined = undefined;
  nextArrived: HeldEvent | undefined = undefined;
  /** The task's name in a receipt, the class of the error in a failure or a retry; '' if unknown. */
  text = '';
  /** The name of the task in a failure that is its only event; '' in other events. */
  name = '';
  /** The outcome, if the event is an end. */
  outcome: Outcome = 'succeeded';
  /** The optional fields that are enabled; undefined if there are none. */
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

  /** When the event happened, by the worker's clock, epoch ms. */
  get timestampMs(): number {
    return this.#numbers[this.#from + TIMESTAMP] ?? 0;
  }

  /** `timestampMs`; undefined if no duration can be computed from it. */
  get plausibleMs(): number | undefined {
    return this.implausibleTime ? undefined : this.timestampMs;
  }

  /** When the event arrived, in listened time, ms. */
  get arrivedAtMs(): number {
    return this.#numbers[this.#from + ARRIVED] ?? 0;
  }

  /** The logical clock of the worker; -1 if unknown. */
  get clock(): number {
    return this.#numbers[this.#from + CLOCK] ?? 0;
  }

  /** Its number among the arrivals of its pid. `| 0` makes it an integer for V8, which takes less room in a run. */
  get place(): number {
    return (this.#numbers[this.#from + PLACE] ?? 0) | 0;
  }

  /** Read only of a receipt, as are `etaMs`, `expiresMs` and `hasNoParent`. */
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

  /** Read only of a success, in seconds; undefined if unknown. */
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

  /** Frees the texts and links of the event, and replaces its task and process by these placeholders. */
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
