/**
 * Finds tasks by id: a hash table with open addressing in typed arrays. With a hundred thousand tasks, reads of memory that
 * is not in the CPU cache take most of the time; a Map needs several for each task, and its entries make work for the garbage
 * collector. It knows nothing of tasks but their key and place.
 */

import type { TaskKey } from './task-key.ts';
import type { TaskNumbers } from './task-numbers.ts';

/** What it keeps. */
interface Placed {
  /** Of its key. */
  readonly text: string;
  /** A small number that no other kept task has. */
  readonly place: number;
}

const SLOT_BITS_AT_FIRST = 11;
/** At least: with fewer, too many tasks are in the way of others. */
const SLOTS_PER_TASK = 2;

export class TaskIndex<Task extends Placed> {
  readonly #numbers: TaskNumbers;
  readonly #key: TaskKey;
  /** In each slot the place of a task, plus 1; 0 if it is free. A task is in the first slot from its home on that was free. */
  #slots = new Int32Array(2 ** SLOT_BITS_AT_FIRST);
  /** The high bits of a hash say which slot is its home. */
  #shift = 32 - SLOT_BITS_AT_FIRST;
  readonly #tasks: Task[] = [];
  #size = 0;

  /** @param key any one of the table, for hashes */
  constructor(numbers: TaskNumbers, key: TaskKey) {
    this.#numbers = numbers;
    this.#key = key;
  }

  get size(): number {
    return this.#size;
  }

  find(key: TaskKey): Task | undefined {
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (
      let at = key.hash >>> this.#shift, place = slots[at] ?? 0;
      place !== 0;
      at = (at + 1) & mask, place = slots[at] ?? 0
    ) {
      if (!this.#numbers.hasWords(place - 1, key)) continue;
      const task = this.#tasks[place - 1];
      if (task?.text === key.text) return task;
    }
    return undefined;
  }

  /** Adds a task that is not there; its place has its key. */
  add(task: Task): void {
    this.#size += 1;
    this.#tasks[task.place] = task;
    if (this.#size * SLOTS_PER_TASK > this.#slots.length) this.#grow();
    this.#put(task.place);
  }

  /** Removes a task that is there, and moves those after it that could not be found any more. */
  delete({ place: ofTask }: Task): void {
    this.#size -= 1;
    const slots = this.#slots;
    const mask = slots.length - 1;
    let free = this.#home(ofTask);
    while (slots[free] !== ofTask + 1) free = (free + 1) & mask;
    for (
      let at = (free + 1) & mask, place = slots[at] ?? 0;
      place !== 0;
      at = (at + 1) & mask, place = slots[at] ?? 0
    ) {
      const home = this.#home(place - 1);
      if (((at - home) & mask) < ((at - free) & mask)) continue;
      slots[free] = place;
      free = at;
    }
    slots[free] = 0;
  }

  #home(place: number): number {
    return this.#numbers.hash(place, this.#key) >>> this.#shift;
  }

  #put(place: number): void {
    const mask = this.#slots.length - 1;
    let at = this.#home(place);
    while (this.#slots[at] !== 0) at = (at + 1) & mask;
    this.#slots[at] = place + 1;
  }

  #grow(): void {
    const slots = this.#slots;
    this.#slots = new Int32Array(2 * slots.length);
    this.#shift -= 1;
    for (const place of slots) if (place !== 0) this.#put(place - 1);
  }
}
