/**
 * Holds each task event for a moment, so that earlier ones that arrive late can still be applied first. It releases the
 * events of each task in the order in which they happened, and does not interpret them.
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
  /** How much later than an event an earlier one may arrive, ms. */
  readonly windowMs: number;
  /** The most events to hold, and bytes for as many; beyond it the one that arrived first is released early, and counted. */
  readonly heldMax: number;
}

/** Per task. Its events are sorted by insertion, which a hostile sender must not make slow. */
const HELD_PER_TASK_MAX = 64;

/** Measured: an event without its texts, but with a process that nothing else keeps. */
const EVENT_BYTES = 750;
/** As many as a burst leaves; each takes some 250 bytes. */
const FREE_MAX = 50_000;
/** Room for a nodename of eighty characters in each event, and a task name of that length in every other one. */
const BYTES_PER_EVENT = 1024;

export class ReorderingWindow {
  readonly #settings: WindowSettings;
  readonly #apply: (event: HeldEvent) => void;
  readonly #names: Names;
  readonly #free = new Pool<HeldEvent>(FREE_MAX);
  /** What free events point to, so that they keep no other task or process in memory. */
  #placeholder: Pick<HeldEvent, 'task' | 'instance'> | undefined;
  /** The bound on `bytes`. */
  readonly bytesMax: number;
  #bytes = 0;
  #first: HeldEvent | undefined;
  #last: HeldEvent | undefined;
  #size = 0;
  #releasedEarly = 0;
  #releasedEarlyPerTask = 0;

  /**
   * @param apply called with each event when it is released; the event is valid until it returns
   * @param names interns the texts
   */
  constructor(settings: WindowSettings, apply: (event: HeldEvent) => void, names = new Names()) {
    this.#settings = settings;
    this.#apply = apply;
    this.#names = names;
    this.bytesMax = settings.heldMax * BYTES_PER_EVENT;
  }

  /** Events in the queue, including those that are already released. */
  get size(): number {
    return this.#size;
  }

  /** Their memory, an upper estimate. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Events released for lack of room before an earlier one could have arrived. */
  get releasedEarly(): number {
    return this.#releasedEarly;
  }

  /** The same, because one task had too many. */
  get releasedEarlyPerTask(): number {
    return this.#releasedEarlyPerTask;
  }

  hold(event: WorkerTaskEvent, task: Task, instance: WorkerInstance, nowMs: number): void {
    if (this.#size >= this.#settings.heldMax) this.#releaseFirst();
    this.#placeholder ??= { task, instance };
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
   * Releases the due events, and those of the same tasks that happened before them.
   * @param max the most due events to release
   * @returns whether more are due
   */
  release(nowMs: number, max = Number.POSITIVE_INFINITY): boolean {
    for (let released = 0; this.#first !== undefined && this.#isDue(this.#first, nowMs); released += 1) {
      if (released >= max) return true;
      this.#takeFirst(this.#first);
    }
    return false;
  }

  /** Releases all events of the task, or of all tasks. */
  flush(task?: Task): void {
    if (task === undefined) this.release(Number.POSITIVE_INFINITY);
    else while (task.held !== undefined) this.#releaseEarliest(task, task.held);
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
    while (!first.released && task.held !== undefined) this.#releaseEarliest(task, task.held);
    this.#first = first.nextArrived;
    if (this.#first === undefined) this.#last = undefined;
    this.#size -= 1;
    this.#bytes -= bytesOf(first);
    // A pooled object must not keep other data in memory.
    if (this.#placeholder !== undefined) ({ task: first.task, instance: first.instance } = this.#placeholder);
    first.name = first.errorType = '';
    first.lineage = undefined;
    first.next = first.nextArrived = undefined;
    this.#free.give(first);
  }

  #releaseEarliest(task: Task, earliest: HeldEvent): void {
    task.held = earliest.next;
    earliest.released = true;
    this.#apply(earliest);
  }
}

function bytesOf({ name, errorType, instance, lineage }: HeldEvent): number {
  const characters = name.length + errorType.length + instance.nodename.length;
  return EVENT_BYTES + CHARACTER_BYTES * characters + lineageBytes(lineage);
}
