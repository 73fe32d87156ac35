/**
 * Holds each task event for a moment, so that earlier ones that arrive late can still be applied first. It releases the
 * events of each task in the order in which they happened, and does not interpret them.
 */

import { CHARACTER_BYTES } from '../measured-bytes.ts';
import { Names } from '../names.ts';
import { Pool } from '../pool.ts';
import { lengthOf } from '../tasks/chain.ts';
import { HeldEvent, type Task, type WorkerTaskEvent } from '../tasks/task.ts';
import type { WorkerInstance } from '../workers/worker-instance.ts';
import { isBefore } from './event-order.ts';
import type { HeldExtras } from './held-extras.ts';
import { HeldNumbers } from './held-numbers.ts';
import { hasPassed, holdingMs } from './lateness.ts';

export interface WindowSettings {
  /** How much later than an event an earlier one may arrive, ms. */
  readonly windowMs: number;
  /** The most events to hold, and bytes for as many; beyond it the one that arrived first is released early, and counted. */
  readonly heldMax: number;
}

/**
 * Per task: four runs of three events each (Celery’s default retries), and some more. Beyond it the earliest is
 * released early. The limit keeps sorting, and releasing the events of an evicted task, fast even with hostile senders.
 */
const HELD_PER_TASK_MAX = 16;

/** Measured: an event without its texts, but with a process that only it references. */
const EVENT_BYTES = 750;
/** Room for a nodename of eighty characters in each event, and a task name of that length in every other one. */
const BYTES_PER_EVENT = 1024;

export class ReorderingWindow {
  readonly #settings: WindowSettings;
  readonly #apply: (event: HeldEvent) => void;
  readonly #names: Names;
  readonly #extras: HeldExtras | undefined;
  readonly #numbers = new HeldNumbers();
  /** As many as a burst leaves. */
  readonly #free = new Pool<HeldEvent>(Number.POSITIVE_INFINITY);
  /** Placeholders for free events, so that they keep no task or process in memory. */
  #placeholder: Pick<HeldEvent, 'task' | 'instance'> | undefined;
  /** The bound on `bytes`. */
  readonly bytesMax: number;
  /** The memory of the held events, an upper estimate. */
  bytes = 0;
  #first: HeldEvent | undefined;
  #last: HeldEvent | undefined;
  /** Events in the queue. */
  size = 0;
  /** Events released for lack of room before an earlier one could have arrived. */
  releasedEarly = 0;
  /** Events that arrived after later ones of their task had been released early, because it had too many. */
  releasedEarlyPerTask = 0;

  /**
   * @param apply called with each event when it is released; the event is valid until it returns
   * @param names interns the texts
   * @param extras bounds those that are only read where they are wanted; undefined: extras are not kept
   */
  constructor(
    settings: WindowSettings,
    apply: (event: HeldEvent) => void,
    names = new Names(),
    extras?: HeldExtras,
  ) {
    this.#settings = settings;
    this.#apply = apply;
    this.#names = names;
    this.#extras = extras;
    this.bytesMax = settings.heldMax * BYTES_PER_EVENT;
  }

  hold(event: WorkerTaskEvent, task: Task, instance: WorkerInstance, nowMs: number): void {
    if (this.size >= this.#settings.heldMax) this.#releaseFirst();
    this.#placeholder ??= { task, instance };
    const held = this.#free.take() ?? new HeldEvent(task, instance, this.#numbers);
    held.fill(event, task, instance, nowMs);
    if (held.extras !== undefined) held.extras = this.#extras?.take(held.extras);
    if (held.text !== '') held.text = this.#names.intern(held.text);
    const bytes = bytesOf(held);
    while (this.bytes + bytes > this.bytesMax && this.#first !== undefined) this.#releaseFirst();
    this.bytes += bytes;
    held.previousArrived = this.#last;
    if (this.#last === undefined) this.#first = held;
    else this.#last.nextArrived = held;
    this.#last = held;
    this.size += 1;
    this.#insert(task, held);
  }

  /**
   * Releases the due events, preceded by earlier ones of the same tasks.
   * @param max the most events to release
   * @returns whether more are due
   */
  release(nowMs: number, max = Number.POSITIVE_INFINITY): boolean {
    for (let released = 0; this.#first !== undefined && this.#isDue(this.#first, nowMs); released += 1) {
      if (released >= max) return true;
      this.#releaseBefore(this.#first);
    }
    return false;
  }

  /** Releases all events of the task, or of all tasks. */
  flush(task?: Task): void {
    if (task === undefined) this.release(Number.POSITIVE_INFINITY);
    else while (task.held !== undefined) this.#releaseBefore(task.held);
  }

  #isDue(held: HeldEvent, nowMs: number): boolean {
    return hasPassed(holdingMs(this.#settings.windowMs), held.arrivedAtMs, nowMs);
  }

  #insert(task: Task, held: HeldEvent): void {
    let before: HeldEvent | undefined;
    let after = task.held;
    while (after !== undefined && !isBefore(held, after)) {
      before = after;
      after = after.next;
    }
    held.next = after;
    if (before === undefined) task.held = held;
    else before.next = held;
    if (lengthOf(task.held) <= HELD_PER_TASK_MAX) return;
    if (before === undefined) this.releasedEarlyPerTask += 1;
    this.#releaseBefore(held);
  }

  #releaseFirst(): void {
    if (this.#first === undefined) return;
    this.releasedEarly += 1;
    this.#releaseBefore(this.#first);
  }

  /** Releases one event: the earliest of the task. */
  #releaseBefore(held: HeldEvent): void {
    const earliest = held.task.held ?? held;
    held.task.held = earliest.next;
    const { previousArrived, nextArrived } = earliest;
    if (previousArrived === undefined) this.#first = nextArrived;
    else previousArrived.nextArrived = nextArrived;
    if (nextArrived === undefined) this.#last = previousArrived;
    else nextArrived.previousArrived = previousArrived;
    this.size -= 1;
    this.bytes -= bytesOf(earliest);
    this.#apply(earliest);
    if (earliest.extras !== undefined) this.#extras?.release(earliest.extras);
    if (this.#placeholder !== undefined) earliest.clear(this.#placeholder.task, this.#placeholder.instance);
    this.#free.give(earliest);
  }
}

function bytesOf({ text, instance }: HeldEvent): number {
  const characters = text.length + instance.nodename.length;
  return EVENT_BYTES + CHARACTER_BYTES * characters;
}
