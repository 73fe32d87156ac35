/**
 * Holds each event of a task for a moment, so that those that were overtaken on their way can still come before it. It
 * gives them out in the order in which they happened, task by task, and knows nothing of what they mean.
 */
import { isBefore } from './event-order.ts';
import { lineageBytes } from './finished-runs.ts';
import { hasPassed, holdingMs } from './lateness.ts';
import { CHARACTER_BYTES } from './measured-bytes.ts';
import { Names } from './names.ts';
import { Pool } from './pool.ts';
import { HeldEvent, type Task, type WorkerTaskEvent } from './task.ts';
import type { WorkerInstance } from './worker-instance.ts';

export interface WindowSettings {
  /** How much later than an event an earlier one may come, ms. */
  readonly windowMs: number;
  /** Events held at most, and bytes for as many; beyond it the one that came first is released early, and counted. */
  readonly heldMax: number;
}

/** Of one task. Its events are kept sorted by walking along them, which a hostile sender must not make long. */
const HELD_PER_TASK_MAX = 64;

/** An event without its texts, with a process that is held by nothing else, as measured. */
const EVENT_BYTES = 750;
/** Room for a nodename of eighty letters in each, and in every other one for such a name of a task. */
const BYTES_PER_EVENT = 1024;

export class ReorderingWindow {
  readonly #settings: WindowSettings;
  readonly #apply: (event: HeldEvent) => void;
  readonly #names: Names;
  readonly #free = new Pool<HeldEvent>();
  /** What is held takes at most so much, as estimated. */
  readonly bytesMax: number;
  #bytes = 0;
  #first: HeldEvent | undefined;
  #last: HeldEvent | undefined;
  #size = 0;
  #releasedEarly = 0;
  #releasedEarlyPerTask = 0;

  /**
   * @param apply given each event when its time has come; it may be read until apply returns
   * @param names by which its texts are kept once
   */
  constructor(settings: WindowSettings, apply: (event: HeldEvent) => void, names = new Names()) {
    this.#settings = settings;
    this.#apply = apply;
    this.#names = names;
    this.bytesMax = settings.heldMax * BYTES_PER_EVENT;
  }

  /** Events in it, those that have left before their turn included. */
  get size(): number {
    return this.#size;
  }

  /** What they take, as estimated: rather too much. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Events that were released before an earlier one could have come, for lack of room. */
  get releasedEarly(): number {
    return this.#releasedEarly;
  }

  /** The same, because too many of one task were held. */
  get releasedEarlyPerTask(): number {
    return this.#releasedEarlyPerTask;
  }

  hold(event: WorkerTaskEvent, task: Task, instance: WorkerInstance, nowMs: number): void {
    if (this.#size >= this.#settings.heldMax) this.#releaseFirst();
    const held = this.#free.take() ?? new HeldEvent(task, instance);
    held.fill(event, task, instance, nowMs);
    if (held.name !== '') held.name = this.#names.intern(held.name);
    if (held.errorType !== '') held.errorType = this.#names.intern(held.errorType);
    const bytes = bytesOf(held);
    while (this.#bytes + bytes > this.bytesMax && this.#first !== undefined) this.#releaseFirst();
    this.#bytes += bytes;
    if (this.#last === undefined) this.#first = held;
    else this.#last.nextArrived = held;
    this.#last = held;
    this.#size += 1;
    this.#insert(task, held);
  }

  /**
   * Gives out what has been held for long enough, and what happened before it to the same task.
   * @param max of those that have been held for long enough
   * @returns whether there are more of them
   */
  release(nowMs: number, max = Number.POSITIVE_INFINITY): boolean {
    for (let given = 0; this.#first !== undefined && this.#isDue(this.#first, nowMs); given += 1) {
      if (given >= max) return true;
      this.#takeFirst(this.#first);
    }
    return false;
  }

  /** Gives out everything that is held of the task, or of all. */
  flush(task?: Task): void {
    if (task === undefined) this.release(Number.POSITIVE_INFINITY);
    else while (task.held !== undefined) this.#giveEarliest(task, task.held);
  }

  #isDue(held: HeldEvent, nowMs: number): boolean {
    return hasPassed(holdingMs(this.#settings.windowMs), held.arrivedAtMs, nowMs);
  }

  #insert(task: Task, held: HeldEvent): void {
    let before: HeldEvent | undefined;
    let after = task.held;
    let steps = 0;
    while (after !== undefined && !isBefore(held, after)) {
      before = after;
      after = after.next;
      steps += 1;
    }
    held.next = after;
    if (before === undefined) task.held = held;
    else before.next = held;
    if (steps < HELD_PER_TASK_MAX) return;
    this.#releasedEarlyPerTask += steps + 1;
    this.flush(task);
  }

  #releaseFirst(): void {
    if (this.#first === undefined) return;
    if (!this.#first.released) this.#releasedEarly += 1;
    this.#takeFirst(this.#first);
  }

  #takeFirst(first: HeldEvent): void {
    const { task } = first;
    while (!first.released && task.held !== undefined) this.#giveEarliest(task, task.held);
    this.#first = first.nextArrived;
    if (this.#first === undefined) this.#last = undefined;
    this.#size -= 1;
    this.#bytes -= bytesOf(first);
    // It may be kept for long, and must keep nothing.
    first.name = first.errorType = '';
    first.lineage = undefined;
    first.next = first.nextArrived = undefined;
    this.#free.give(first);
  }

  #giveEarliest(task: Task, earliest: HeldEvent): void {
    task.held = earliest.next;
    earliest.released = true;
    this.#apply(earliest);
  }
}

function bytesOf({ name, errorType, instance, lineage }: HeldEvent): number {
  const characters = name.length + errorType.length + instance.nodename.length;
  return EVENT_BYTES + CHARACTER_BYTES * characters + lineageBytes(lineage);
}
