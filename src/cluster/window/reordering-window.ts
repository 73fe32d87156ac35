/**
 * Holds each task event for a moment, so that an earlier event that arrives late can still be applied first. It releases the
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
  /** The most events to hold, which also bounds their bytes; beyond it the first to arrive is released early, and counted. */
  readonly heldMax: number;
}

/**
 * The most held events of one task: four runs of three events each (Celery’s default retries), and some more. Beyond it the
 * earliest event is released early. The limit keeps sorting, and releasing the events of an evicted task, fast even with
 * hostile senders.
 */
const HELD_PER_TASK_MAX = 16;

/** Measured bytes of an event without the characters of its texts, but with a process that only this event keeps in memory. */
const EVENT_BYTES = 750;
/** The bound in bytes per event: room for a nodename of 80 characters, and in every other event for such a task name. */
const BYTES_PER_EVENT = 1024;

export class ReorderingWindow {
  readonly #settings: WindowSettings;
  readonly #apply: (event: HeldEvent) => void;
  readonly #names: Names;
  readonly #extras: HeldExtras | undefined;
  readonly #numbers = new HeldNumbers();
  /** Events for reuse. They have no bound of their own: there are at most as many as were held at once. */
  readonly #free = new Pool<HeldEvent>(Number.POSITIVE_INFINITY);
  /** The task and process of all free events, so that these keep no others in memory. */
  #placeholder: Pick<HeldEvent, 'task' | 'instance'> | undefined;
  /** The bound on `bytes`. */
  readonly bytesMax: number;
  /** The memory of the held events, an upper estimate. */
  bytes = 0;
  /** The held events that arrived first and last. */
  #first: HeldEvent | undefined;
  #last: HeldEvent | undefined;
  /** How many events are held. */
  size = 0;
  /** How many events were released early for lack of room, when an earlier one could still have arrived. */
  releasedEarly = 0;
  /** How many events arrived too late because their task had too many held events, so that later ones were released early. */
  releasedEarlyPerTask = 0;

  /**
   * @param apply called with each released event, which is reused after the call
   * @param names interns the texts of held events
   * @param extras bounds the optional fields of held events; undefined: optional fields are not kept
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

  /** Holds an event until it is due. @param nowMs the current time, in listened time */
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
   * Releases the due events, and before each of them the earlier events of the same task.
   * @param max the most events to release
   * @returns whether more are due
   */
  release(nowMs: number, max = Number.POSITIVE_INFINITY): boolean {
    for (let released = 0; this.#first !== undefined && this.#isDue(this.#first, nowMs); released += 1) {
      if (released >= max) return true;
      this.#releaseEarliest(this.#first);
    }
    return false;
  }

  /** Releases all events of the task, or of all tasks. */
  flush(task?: Task): void {
    if (task === undefined) this.release(Number.POSITIVE_INFINITY);
    else while (task.held !== undefined) this.#releaseEarliest(task.held);
  }

  #isDue(held: HeldEvent, nowMs: number): boolean {
    return hasPassed(holdingMs(this.#settings.windowMs), held.arrivedAtMs, nowMs);
  }

  /** Inserts the event among the held events of its task, in the order in which they happened. */
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
    this.#releaseEarliest(held);
  }

  #releaseFirst(): void {
    if (this.#first === undefined) return;
    this.releasedEarly += 1;
    this.#releaseEarliest(this.#first);
  }

  /** Releases the earliest held event of the task that the given event belongs to. */
  #releaseEarliest(held: HeldEvent): void {
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
