/**
 * The numbers of each remembered task, next to each other in a typed array: its id, and what is remembered of its last
 * events. Exact duplicates are detected by 32-bit fingerprints: Celery sends an event again if it cannot know whether the
 * broker received it before a connection broke. Pure except for its own memory.
 */
import { type TaskKey, uuidOf, WORDS } from './task-key.ts';

/** A cache line of 64 bytes: reading one brings all of them into the CPU cache. */
const NUMBERS_PER_TASK = 16;
/** The first are fingerprints, the oldest first, then zeros: enough for three runs. */
const PRINTS_PER_TASK = 12;
/** The words of its key. */
const KEY = 12;
const TASKS_AT_FIRST = 1024;
const FNV_PRIME = 0x01000193;

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

export class TaskNumbers {
  readonly #tasksMax: number;
  #numbers = new Uint32Array(TASKS_AT_FIRST * NUMBERS_PER_TASK);
  /**
   * When the last event of each task arrived, in whole seconds of listened time, which of a recording is epoch time. It
   * takes four bytes here; an object field takes eight, or twenty-four with fractions.
   */
  #seconds = new Uint32Array(TASKS_AT_FIRST);

  constructor(tasksMax: number) {
    this.#tasksMax = tasksMax;
  }

  /** Assigns the place to the task with that key. */
  begin(place: number, { words }: TaskKey): void {
    if (place * NUMBERS_PER_TASK >= this.#numbers.length) this.#grow(place);
    const from = place * NUMBERS_PER_TASK;
    // A call of `fill` takes longer.
    for (let at = from; at < from + PRINTS_PER_TASK && this.#numbers[at] !== 0; at += 1)
      this.#numbers[at] = 0;
    for (let word = 0; word < WORDS; word += 1) this.#numbers[from + KEY + word] = words[word] ?? 0;
  }

  /** Whether the task at that place has a key with these words. */
  hasWords(place: number, { words }: TaskKey): boolean {
    const from = place * NUMBERS_PER_TASK + KEY;
    for (let word = 0; word < WORDS; word += 1) if (this.#numbers[from + word] !== words[word]) return false;
    return true;
  }

  /** The hash of the key of the task at that place. @param key any one of its table */
  hash(place: number, key: TaskKey): number {
    return key.hashOf(this.#numbers, place * NUMBERS_PER_TASK + KEY);
  }

  /** The uuid of the task at that place, if its id is one. */
  uuid(place: number): string {
    return uuidOf(this.#numbers, place * NUMBERS_PER_TASK + KEY);
  }

  /** An event of the task at that place has arrived. */
  note(place: number, listenedMs: number): void {
    this.#seconds[place] = Math.floor(listenedMs / 1000);
  }

  /** When the last one arrived, in listened time, ms; up to a second too early. */
  ms(place: number): number {
    return (this.#seconds[place] ?? 0) * 1000;
  }

  /** Whether the task at that place has had this event; remembers it if not, and forgets the oldest if there is no room. */
  isRepeat(place: number, print: number): boolean {
    const from = place * NUMBERS_PER_TASK;
    const last = from + PRINTS_PER_TASK - 1;
    for (let at = from; at <= last; at += 1) {
      const known = this.#numbers[at];
      if (known === print) return true;
      if (known !== 0) continue;
      this.#numbers[at] = print;
      return false;
    }
    this.#numbers.copyWithin(from, from + 1, last + 1);
    this.#numbers[last] = print;
    return false;
  }

  #grow(place: number): void {
    let tasks = this.#seconds.length;
    while (tasks <= place) tasks *= 2;
    tasks = Math.max(place + 1, Math.min(tasks, this.#tasksMax));
    this.#numbers = longer(this.#numbers, tasks * NUMBERS_PER_TASK);
    this.#seconds = longer(this.#seconds, tasks);
  }
}

function longer(numbers: Uint32Array<ArrayBuffer>, length: number): Uint32Array<ArrayBuffer> {
  const copy = new Uint32Array(length);
  copy.set(numbers);
  return copy;
}
