/**
 * Finds tasks by uuid: a hash table with open addressing in typed arrays. With a hundred thousand tasks, reads of memory that
 * is not in the CPU cache take most of the time; a Map needs several for each task, and its entries make work for the garbage
 * collector. It knows nothing of tasks but their uuid and place.
 */

/** What it keeps. */
interface Placed {
  readonly uuid: string;
  /** A small number that no other kept task has. */
  readonly place: number;
}

/** The hashes of the uuids of tasks, 32 bits each; senders must not be able to choose them. */
interface Hashes {
  hash(place: number): number;
}

const SLOTS_AT_FIRST = 2048;
/** At least: with fewer, too many tasks are in the way of others. */
const SLOTS_PER_TASK = 2;

export class TaskIndex<Task extends Placed> {
  readonly #hashes: Hashes;
  /** In each slot the place of a task, plus 1; 0 if it is free. A task is in the first slot from its hash on that was free. */
  #slots = new Int32Array(SLOTS_AT_FIRST);
  readonly #tasks: Task[] = [];
  #size = 0;

  constructor(hashes: Hashes) {
    this.#hashes = hashes;
  }

  get size(): number {
    return this.#size;
  }

  /** @param hash of the uuid */
  find(uuid: string, hash: number): Task | undefined {
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (
      let at = hash & mask, place = slots[at] ?? 0;
      place !== 0;
      at = (at + 1) & mask, place = slots[at] ?? 0
    ) {
      if (this.#hashes.hash(place - 1) !== hash) continue;
      const task = this.#tasks[place - 1];
      if (task?.uuid === uuid) return task;
    }
    return undefined;
  }

  /** Adds a task that is not there. */
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
    let free = this.#hashes.hash(ofTask) & mask;
    while (slots[free] !== ofTask + 1) free = (free + 1) & mask;
    for (
      let at = (free + 1) & mask, place = slots[at] ?? 0;
      place !== 0;
      at = (at + 1) & mask, place = slots[at] ?? 0
    ) {
      const first = this.#hashes.hash(place - 1) & mask;
      if (((at - first) & mask) < ((at - free) & mask)) continue;
      slots[free] = place;
      free = at;
    }
    slots[free] = 0;
  }

  #put(place: number): void {
    const mask = this.#slots.length - 1;
    let at = this.#hashes.hash(place) & mask;
    while (this.#slots[at] !== 0) at = (at + 1) & mask;
    this.#slots[at] = place + 1;
  }

  #grow(): void {
    const slots = this.#slots;
    this.#slots = new Int32Array(2 * slots.length);
    for (const place of slots) if (place !== 0) this.#put(place - 1);
  }
}
