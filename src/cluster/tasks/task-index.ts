/**
 * Finds tasks by id: a hash table with open addressing in typed arrays. With a hundred thousand tasks, reads of memory that
 * is not in the CPU cache take most of the time; a Map needs several of them for each task, and its entries make work for the
 * garbage collector. Of a task it reads only the key and the place, which is the index of the task in the typed arrays.
 */

import type { Task } from './task.ts';
import type { TaskKey } from './task-key.ts';
import type { TaskNumbers } from './task-numbers.ts';

/** The binary logarithm of the number of slots at the start. */
const SLOT_BITS_AT_FIRST = 11;
/** The least number of slots per task: with fewer slots, too many tasks collide. */
const SLOTS_PER_TASK = 2;

/** Each slot has two numbers: the place of its task plus 1, or 0 if the slot is free, and the hash of the task’s key. */
const NUMBERS_PER_SLOT = 2;

export class TaskIndex {
  readonly #numbers: TaskNumbers;
  readonly #key: TaskKey;
  /** The numbers of all slots. A task is in the first slot that was free, starting from its home slot. */
  #slots = new Uint32Array(NUMBERS_PER_SLOT * 2 ** SLOT_BITS_AT_FIRST);
  /** By how many bits a hash is shifted right, so that its high bits select the home slot. */
  #shift = 32 - SLOT_BITS_AT_FIRST;
  /** The tasks, by their places. */
  readonly #tasks: Task[] = [];
  /** How many tasks the index contains. */
  size = 0;

  /** @param key any key with the seed of the table, for computing hashes */
  constructor(numbers: TaskNumbers, key: TaskKey) {
    this.#numbers = numbers;
    this.#key = key;
  }

  /** The task with this key, if it is known. */
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

  /** Adds a task that is not in the index; the numbers at its place must contain its key. */
  add(task: Task): void {
    this.size += 1;
    this.#tasks[task.place] = task;
    if (this.size * SLOTS_PER_TASK * NUMBERS_PER_SLOT > this.#slots.length) this.#grow();
    this.#put(task.place + 1, this.#numbers.hash(task.place, this.#key));
  }

  /** Removes a task that is in the index, and moves those tasks after it that could otherwise no longer be found. */
  delete({ place: deletedPlace }: Task): void {
    this.size -= 1;
    const mask = this.#slots.length - 1;
    let free = this.#home(this.#numbers.hash(deletedPlace, this.#key));
    while (this.#at(free) !== deletedPlace + 1) free = this.#next(free);
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

  /** The index of the first number of the home slot. */
  #home(hash: number): number {
    return (hash >>> this.#shift) * NUMBERS_PER_SLOT;
  }

  /** The index of the first number of the next slot; after the last slot comes the first. */
  #next(slot: number): number {
    return (slot + NUMBERS_PER_SLOT) & (this.#slots.length - 1);
  }

  /** The place in this slot, plus 1; 0 if the slot is free. */
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
