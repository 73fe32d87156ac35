/**
 * What is remembered of the last events of each task. Exact duplicates are detected by 32-bit fingerprints: Celery sends an
 * event again if it cannot know whether the broker received it before a connection broke. Pure except for its own memory.
 */

/** A cache line of 64 bytes. */
const NUMBERS_PER_TASK = 16;
/** The first are fingerprints: enough for three runs. */
const PRINTS_PER_TASK = 12;
/** The slot of the next fingerprint, which replaces the oldest. */
const NEXT = 12;
/**
 * When the last event of the task arrived, in whole seconds of listened time, which of a recording is epoch time. It takes
 * four bytes here; an object field takes eight, or twenty-four with fractions.
 */
const SECONDS = 13;
/** Of the uuid: where the task is in the index. */
const HASH = 14;
const TASKS_AT_FIRST = 1024;

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/** A hash of a text (FNV-1a over its UTF-16 units). @param seed unknown to senders where a table depends on the hash */
export function hashOf(name: string, seed = FNV_OFFSET): number {
  let hash = seed;
  for (let at = 0; at < name.length; at += 1) hash = Math.imul(hash ^ name.charCodeAt(at), FNV_PRIME);
  return hash;
}

const double = new Float64Array(1);
const halves = new Int32Array(double.buffer);

/** Distinguishes the events of a task by type, sender, logical clock and timestamp. */
export function fingerprint(type: number, sender: number, clock: number, timestampMs: number): number {
  double[0] = timestampMs;
  // Constants of MurmurHash3 and xxHash: they spread each part over all bits before the next is added.
  let hash = Math.imul(sender ^ Math.imul(type + 1, 0x9e3779b1), FNV_PRIME);
  hash = Math.imul((hash ^ (hash >>> 15)) + clock, 0x85ebca6b);
  hash = Math.imul((hash ^ (hash >>> 13)) + (halves[0] ?? 0), 0xc2b2ae35);
  hash = Math.imul((hash ^ (hash >>> 16)) + (halves[1] ?? 0), 0x27d4eb2f);
  // 0 means an empty slot.
  return (hash ^ (hash >>> 15)) >>> 0 || 1;
}

export class LastEvents {
  readonly #tasksMax: number;
  /** The numbers of each task, next to each other: so reading one brings all of them into the CPU cache. */
  #numbers = new Uint32Array(TASKS_AT_FIRST * NUMBERS_PER_TASK);

  constructor(tasksMax: number) {
    this.#tasksMax = tasksMax;
  }

  /** An event of the task at that place has arrived. */
  note(place: number, listenedMs: number): void {
    if (place * NUMBERS_PER_TASK >= this.#numbers.length) this.#grow(place);
    this.#numbers[place * NUMBERS_PER_TASK + SECONDS] = Math.floor(listenedMs / 1000);
  }

  /** When the last one arrived, in listened time, ms; up to a second too early. */
  ms(place: number): number {
    return (this.#numbers[place * NUMBERS_PER_TASK + SECONDS] ?? 0) * 1000;
  }

  /** Whether the task at that place has had this event; remembers it if not. */
  isRepeat(place: number, print: number): boolean {
    if (place * NUMBERS_PER_TASK >= this.#numbers.length) this.#grow(place);
    const from = place * NUMBERS_PER_TASK;
    for (let at = from; at < from + PRINTS_PER_TASK; at += 1) {
      const known = this.#numbers[at];
      if (known === print) return true;
      if (known === 0) break;
    }
    const next = this.#numbers[from + NEXT] ?? 0;
    this.#numbers[from + next] = print;
    this.#numbers[from + NEXT] = (next + 1) % PRINTS_PER_TASK;
    return false;
  }

  /** The hash of the uuid of the task at that place. */
  hash(place: number): number {
    return this.#numbers[place * NUMBERS_PER_TASK + HASH] ?? 0;
  }

  /** The place is given to a task whose uuid has that hash, 32 bits without a sign. */
  begin(place: number, hash: number): void {
    if (place * NUMBERS_PER_TASK >= this.#numbers.length) this.#grow(place);
    const from = place * NUMBERS_PER_TASK;
    this.#numbers[from + HASH] = hash;
    // Slots after the first empty one are empty, and a call of `fill` takes longer.
    for (let at = from; at < from + PRINTS_PER_TASK && this.#numbers[at] !== 0; at += 1)
      this.#numbers[at] = 0;
    this.#numbers[from + NEXT] = 0;
  }

  #grow(place: number): void {
    let tasks = this.#numbers.length / NUMBERS_PER_TASK;
    while (tasks <= place) tasks *= 2;
    tasks = Math.max(place + 1, Math.min(tasks, this.#tasksMax));
    const longer = new Uint32Array(tasks * NUMBERS_PER_TASK);
    longer.set(this.#numbers);
    this.#numbers = longer;
  }
}
