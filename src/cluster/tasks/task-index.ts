/**
 * Finds tasks by id: a hash table with open addressing in typed arrays. With a hundred thousand tasks, reads of memory that
 * is not in the CPU cache take most of the time; a Map needs several for each task, and its entries make work for the garbage
 * collector. It knows nothing of tasks but their key and place.
 */

import type { Task } from './task.ts';
import type { TaskKey } from './task-key.ts';
import type { TaskNumbers } from './task-numbers.ts';

const SLOT_BITS_AT_FIRST = 11;
/** The minimum: with fewer slots, too many tasks collide. */
const SLOTS_PER_TASK = 2;

/** Per slot: the place of its task plus 1, and the hash of its key. 0 means free. */
const NUMBERS_PER_SLOT = 2;

export class TaskIndex {
  readonly #numbers: TaskNumbers;
  readonly #key: TaskKey;
  /** A task is in the first slot that was free, starting from its home. */
  #slots = new Uint32Array(NUMBERS_PER_SLOT * 2 ** SLOT_BITS_AT_FIRST);
  /** The high bits of a hash select the home slot. */
  #shift = 32 - SLOT_BITS_AT_FIRST;
  readonly #tasks: Task[] = [];
  size = 0;

  /** @param key any one of the table, for hashes */
  constructor(numbers: TaskNumbers, key: TaskKey) {
    this.#numbers = numbers;
    this.#key = key;
  }

  find(key: TaskKey): Task | undefined {
    for (let at = this.#home(key.hash), place = this.#at(at); place !== 0; place = this.#at(at)) {
      if (this.#slots[at + 1] === key.hash && this.#numbers.hasWords(place - 1, key)) {
        const task = this.#tasks[place - 1];
        if (task?.text === key.text) return task;
      }
      at = this.#next(at);
    }
    return undefined;
  }

  /** Adds a task that is not there; its place has its key. */
  add(task: Task): void {
    this.size += 1;
    this.#tasks[task.place] = task;
    if (this.size * SLOTS_PER_TASK * NUMBERS_PER_SLOT > this.#slots.length) this.#grow();
    this.#put(task.place + 1, this.#numbers.hash(task.place, this.#key));
  }

  /** Removes an existing task, and moves those after it that could otherwise no longer be found. */
  delete({ place: ofTask }: Task): void {
    this.size -= 1;
    const mask = this.#slots.length - 1;
    let free = this.#home(this.#numbers.hash(ofTask, this.#key));
    while (this.#at(free) !== ofTask + 1) free = this.#next(free);
    for (let at = this.#next(free), place = this.#at(at); place !== 0; place = this.#at(at)) {
      const hash = this.#slots[at + 1] ?? 0;
      if (((at - this.#home(hash)) & mask) >= ((at - free) & mask)) {
        this.#set(free, place, hash);
        free = at;
      }
      at = this.#next(at);
    }
    this.#set(free, 0, 0);
  }

  #home(hash: number): number {
    return (hash >>> this.#shift) * NUMBERS_PER_SLOT;
  }

  #next(slot: number): number {
    return (slot + NUMBERS_PER_SLOT) & (this.#slots.length - 1);
  }

  /** The place in that slot, plus 1. */
  #at(slot: number): number {
    return this.#slots[slot] ?? 0;
  }

  #set(slot: number, place: number, hash: number): void {
    this.#slots[slot] = place;
    this.#slots[slot + 1] = hash;
  }

  #put(place: number, hash: number): void {
    let at = this.#home(hash);
    while (this.#at(at) !== 0) at = this.#next(at);
    this.#set(at, place, hash);
  }

  #grow(): void {
    const slots = this.#slots;
    this.#slots = new Uint32Array(2 * slots.length);
    this.#shift -= 1;
    for (let at = 0; at < slots.length; at += NUMBERS_PER_SLOT)
      if (slots[at] !== 0) this.#put(slots[at] ?? 0, slots[at + 1] ?? 0);
  }
}
