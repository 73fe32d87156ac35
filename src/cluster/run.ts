/**
 * What is remembered of one execution of a task, and of one sending of it: only what later events need, since there are a
 * hundred thousand. It holds data and decides nothing.
 */
import { marked } from './marks.ts';
import type { RunIdentity } from './observation.ts';
import type { WorkerInstance } from './worker-instance.ts';

const SCHEDULED = 1;
const STARTED = 2;
const IMPLAUSIBLE = 4;
/** Above the marks. */
const PLACE_SHIFT = 3;
const MARKS = (1 << PLACE_SHIFT) - 1;

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
  #marks = 0;
  standing: Standing = 'expected';
  /** By the worker's clock, epoch ms: of the receipt (or the ETA, if later) while it waits, then of the start. */
  sinceMs = Number.NaN;
  /** When it was due, by the sender’s clock, epoch ms: when it was sent, or its ETA if later. Until it starts, where known. */
  dueMs: number | undefined = undefined;
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

  /** `sinceMs` is when it was told: the time by the worker's clock is implausible. */
  get implausibleTime(): boolean {
    return (this.#marks & IMPLAUSIBLE) !== 0;
  }
  set implausibleTime(implausibleTime: boolean) {
    this.#marks = marked(this.#marks, IMPLAUSIBLE, implausibleTime);
  }

  /** `sinceMs`, where a duration may be made of it. */
  get plausibleSinceMs(): number | undefined {
    return this.implausibleTime ? undefined : this.sinceMs;
  }

  /** Where among the events of its process it was told of last; among the marks, since a field would be eight bytes. */
  get place(): number {
    return this.#marks >>> PLACE_SHIFT;
  }
  set place(place: number) {
    this.#marks = (this.#marks & MARKS) | (place << PLACE_SHIFT);
  }

  get isExpected(): boolean {
    return this.standing === 'expected' || this.standing === 'redelivered';
  }

  /** Makes it a run of which nothing is known but who has it and what it is. */
  begin(instance: WorkerInstance, identity: RunIdentity): void {
    this.identity = identity;
    this.instance = instance;
    this.session = instance.lastSession;
    this.#marks = 0;
    this.standing = 'expected';
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
  /** `sentMs` is when it was told: the time by the sender's clock is implausible. */
  implausibleTime = false;
  etaMs: number | undefined = undefined;
  expiresMs: number | undefined = undefined;
  /** The broker itself holds it back until its ETA (native delayed delivery). */
  delayed = false;
  /** The connection to the broker on which it came, counted: after another it may have been received and have ended. */
  session = 0;
  /** Nodename of whoever sent it. */
  sender = '';
  next: Sending | undefined = undefined;

  /** `sentMs`, where a duration may be made of it. */
  get plausibleMs(): number | undefined {
    return this.implausibleTime ? undefined : this.sentMs;
  }

  /** When it is due to run: when it was sent, or its ETA if that is later; where a duration may be made of it. */
  get plausibleDueMs(): number | undefined {
    return this.implausibleTime ? undefined : Math.max(this.sentMs, this.etaMs ?? this.sentMs);
  }

  /** Keeps no text in memory. */
  clear(): void {
    this.name = '';
    this.queue = '';
    this.sender = '';
  }
}
