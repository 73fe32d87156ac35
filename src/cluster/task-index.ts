/**
 * Finds tasks by uuid: a hash table with open addressing in typed arrays. With a hundred thousand tasks, reads of memory that
 * is not in the CPU cache take most of the time; a Map needs several for each task, and its entries make work for the garbage
 * collector. It knows nothing of tasks but their uuid and place.
 */

/** What it keeps. */
interface Placed {
  readonly uuid: string;
  /** Of its uuid, 32 bits; senders must not be able to choose it. */
  readonly hash: number;
  /** A small number that no other kept task has. */
  readonly place: number;
}

const TASKS_AT_FIRST = 1024;
/** Slots for each task, at least: with fewer, tasks with other hashes are met too often. */
const SLOTS_PER_TASK = 2;

export class TaskIndex<Task extends Placed> {
  /** In each slot the place of a task, plus 1; 0 if it is free. A task is in the first slot from its hash on that was free. */
  #slots = new Int32Array(SLOTS_PER_TASK * TASKS_AT_FIRST);
  /** The hash of the task in each slot. */
  #hashes = new Int32Array(SLOTS_PER_TASK * TASKS_AT_FIRST);
  readonly #tasks: Task[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** @param hash of the uuid */
  find(uuid: string, hash: number): Task | undefined {
    const mask = this.#slots.length - 1;
    for (let at = hash & mask; this.#slots[at] !== 0; at = (at + 1) & mask) {
      if (this.#hashes[at] !== hash) continue;
      const task = this.#tasks[(this.#slots[at] ?? 0) - 1];
      if (task?.uuid === uuid) return task;
    }
    return undefined;
  }

  /** Adds a task that is not there. */
  add(task: Task): void {
    this.#size += 1;
    if (this.#size * SLOTS_PER_TASK > this.#slots.length) this.#grow();
    const { place, hash } = task;
    this.#tasks[place] = task;
    this.#put(place + 1, hash);
  }

  /** Removes a task that is there, and moves those after it that could not be found any more. */
  delete({ place, hash: ofTask }: Task): void {
    this.#size -= 1;
    const mask = this.#slots.length - 1;
    let free = ofTask & mask;
    while (this.#slots[free] !== place + 1) free = (free + 1) & mask;
    for (let at = (free + 1) & mask; this.#slots[at] !== 0; at = (at + 1) & mask) {
      const hash = this.#hashes[at] ?? 0;
      const isPastFree = ((at - hash) & mask) >= ((at - free) & mask);
      if (!isPastFree) continue;
      this.#slots[free] = this.#slots[at] ?? 0;
      this.#hashes[free] = hash;
      free = at;
    }
    this.#slots[free] = 0;
  }

  #put(slot: number, hash: number): void {
    const mask = this.#slots.length - 1;
    let at = hash & mask;
    while (this.#slots[at] !== 0) at = (at + 1) & mask;
    this.#slots[at] = slot;
    this.#hashes[at] = hash;
  }

  #grow(): void {
    const [slots, hashes] = [this.#slots, this.#hashes];
    this.#slots = new Int32Array(2 * slots.length);
    this.#hashes = new Int32Array(2 * slots.length);
    for (const [at, slot] of slots.entries()) if (slot !== 0) this.#put(slot, hashes[at] ?? 0);
  }
}
