/**
 * What is remembered of the last events of each task. Exact duplicates are detected by 32-bit fingerprints: Celery sends an
 * event again if it cannot know whether the broker received it before a connection broke. Pure except for its own memory.
 */

/** Enough for three runs. */
const PRINTS_PER_TASK = 12;
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
  #prints = new Uint32Array(TASKS_AT_FIRST * PRINTS_PER_TASK);
  /** For each task, the slot of the next fingerprint, which replaces the oldest. */
  #next = new Uint8Array(TASKS_AT_FIRST);
  /**
   * When the last event of each task arrived, in whole seconds of listened time, which of a recording is epoch time. It takes
   * four bytes for each task; an object field takes eight, or twenty-four with fractions.
   */
  #seconds = new Uint32Array(TASKS_AT_FIRST);

  constructor(tasksMax: number) {
    this.#tasksMax = tasksMax;
  }

  /** An event of the task at that place has arrived. */
  note(place: number, listenedMs: number): void {
    if (place >= this.#seconds.length) this.#grow(place);
    this.#seconds[place] = Math.floor(listenedMs / 1000);
  }

  /** When the last one arrived, in listened time, ms; up to a second too early. */
  ms(place: number): number {
    return (this.#seconds[place] ?? 0) * 1000;
  }

  /** Whether the task at that place has had this event; remembers it if not. */
  isRepeat(place: number, print: number): boolean {
    if (place >= this.#next.length) this.#grow(place);
    const from = place * PRINTS_PER_TASK;
    for (let at = from; at < from + PRINTS_PER_TASK; at += 1) {
      const known = this.#prints[at];
      if (known === print) return true;
      if (known === 0) break;
    }
    const next = this.#next[place] ?? 0;
    this.#prints[from + next] = print;
    this.#next[place] = (next + 1) % PRINTS_PER_TASK;
    return false;
  }

  /** The place is given to another task. */
  clear(place: number): void {
    if (place >= this.#next.length) return;
    const from = place * PRINTS_PER_TASK;
    // Slots after the first empty one are empty, and a call of `fill` takes longer.
    for (let at = from; at < from + PRINTS_PER_TASK && this.#prints[at] !== 0; at += 1) this.#prints[at] = 0;
    this.#next[place] = 0;
  }

  #grow(place: number): void {
    let tasks = this.#next.length;
    while (tasks <= place) tasks *= 2;
    tasks = Math.max(place + 1, Math.min(tasks, this.#tasksMax));
    this.#prints = copied(this.#prints, new Uint32Array(tasks * PRINTS_PER_TASK));
    this.#next = copied(this.#next, new Uint8Array(tasks));
    this.#seconds = copied(this.#seconds, new Uint32Array(tasks));
  }
}

function copied<Numbers extends { set(from: Numbers): void }>(from: Numbers, to: Numbers): Numbers {
  to.set(from);
  return to;
}
