/**
 * The numbers of each remembered task, next to each other in a typed array: its id, and fingerprints of its last events, which
 * are 32-bit hashes that detect exact duplicates. Celery sends an event again if it cannot know whether the broker received it
 * before a connection broke. It decides nothing about tasks, and is pure except for its own memory.
 */
import { type TaskKey, uuidOf, WORDS } from './task-key.ts';

/** A cache line of 64 bytes: reading one of its numbers brings all of them into the CPU cache. */
const NUMBERS_PER_TASK = 16;
/** The first numbers are fingerprints, the oldest first, then zeros: enough for three runs. */
const PRINTS_PER_TASK = 12;
/** The index of the first word of the key among the numbers of a task. */
const KEY = 12;
/** For how many tasks there is room at the start. */
const TASKS_AT_FIRST = 1024;
const FNV_PRIME = 0x01000193;

/** One number of 64 bits, and the same memory as two numbers of 32 bits. */
const double = new Float64Array(1);
const halves = new Int32Array(double.buffer);

/** A hash that distinguishes the events of a task by type, sender, logical clock and timestamp. */
export function fingerprint(type: number, sender: number, clock: number, timestampMs: number): number {
  double[0] = timestampMs;
  // The constants of MurmurHash3 and xxHash spread each part over all bits before the next one is added.
  let hash = Math.imul(sender ^ Math.imul(type + 1, 0x9e3779b1), FNV_PRIME);
  hash = Math.imul((hash ^ (hash >>> 15)) + clock, 0x85ebca6b);
  hash = Math.imul((hash ^ (hash >>> 13)) + (halves[0] ?? 0), 0xc2b2ae35);
  hash = Math.imul((hash ^ (hash >>> 16)) + (halves[1] ?? 0), 0x27d4eb2f);
  // In the array, 0 means that there is no fingerprint.
  return (hash ^ (hash >>> 15)) >>> 0 || 1;
}

export class TaskNumbers {
  readonly #tasksMax: number;
  #numbers = new Uint32Array(TASKS_AT_FIRST * NUMBERS_PER_TASK);
  /**
   * When the last event of each task arrived, in whole seconds of listened time; in a replay these are seconds of epoch time.
   * Each takes four bytes here; an object field takes eight, or twenty-four with fractions.
   */
  #seconds = new Uint32Array(TASKS_AT_FIRST);

  constructor(tasksMax: number) {
    this.#tasksMax = tasksMax;
  }

  /** Assigns the place to a new task with this key. */
  begin(place: number, { words }: TaskKey): void {
    if (place * NUMBERS_PER_TASK >= this.#numbers.length) this.#grow(place);
    const from = place * NUMBERS_PER_TASK;
    // The loop is faster than a call of `fill`.
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

  /** The hash of the key of the task at that place. @param key any key with the seed of the table */
  hash(place: number, key: TaskKey): number {
    return key.hashOf(this.#numbers, place * NUMBERS_PER_TASK + KEY);
  }

  /** The uuid of the task at that place, if its id is one. */
  uuid(place: number): string {
    return uuidOf(this.#numbers, place * NUMBERS_PER_TASK + KEY);
  }

  /** Notes when an event of the task at that place arrived. */
  noteEvent(place: number, listenedMs: number): void {
    this.#seconds[place] = Math.floor(listenedMs / 1000);
  }

  /** When the last event of the task at that place arrived, in listened time, ms; up to a second too early. */
  lastEventMs(place: number): number {
    return (this.#seconds[place] ?? 0) * 1000;
  }

  /** Whether the event with this fingerprint is a duplicate; if not, it is remembered instead of the oldest one if need be. */
  isRepeat(place: number, eventPrint: number): boolean {
    const from = place * NUMBERS_PER_TASK;
    const last = from + PRINTS_PER_TASK - 1;
    for (let at = from; at <= last; at += 1) {
      const known = this.#numbers[at];
      if (known === eventPrint) return true;
      if (known !== 0) continue;
      this.#numbers[at] = eventPrint;
      return false;
    }
    this.#numbers.copyWithin(from, from + 1, last + 1);
    this.#numbers[last] = eventPrint;
    return false;
  }

  #grow(place: number): void {
    let tasks = this.#seconds.length;
    while (tasks <= place) tasks *= 2;
    tasks = Math.max(place + 1, Math.min(tasks, this.#tasksMax));
    this.#numbers = extended(this.#numbers, tasks * NUMBERS_PER_TASK);
    this.#seconds = extended(this.#seconds, tasks);
  }
}

/** A copy with zeros at its end. */
function extended(numbers: Uint32Array<ArrayBuffer>, length: number): Uint32Array<ArrayBuffer> {
  const copy = new Uint32Array(length);
  copy.set(numbers);
  return copy;
}
