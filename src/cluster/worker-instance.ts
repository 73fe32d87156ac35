/**
 * One instance of a worker: when it gave its last sign of life, and what it told of itself. Its words are taken in the
 * order in which it said them, once no earlier one can still come; signs of life count at once.
 */
import type { WorkerSignal } from '../celery/event.ts';
import { hashOf } from './fingerprint.ts';
import { hasPassed, settlingMs } from './lateness.ts';
import type { Observe } from './observation.ts';
import { type Progress, StartTally } from './start-tally.ts';

/** What it said of itself last. */
interface Word {
  /** By its own clock, epoch ms. */
  readonly timestampMs: number;
  readonly arrivedAtMs: number;
  readonly active: number;
}

/** What all instances have in common. */
export interface InstanceSurroundings {
  /** How much later than a word an earlier one may come, ms. */
  readonly windowMs: number;
  readonly observe: Observe;
  /** Told of a word that was taken to heart early, for lack of room. */
  readonly onHurried: () => void;
}

/** A worker says something every two seconds. */
const HELD_SIGNALS_MAX = 64;

export class WorkerInstance {
  readonly nodename: string;
  readonly pid: number;
  /** Of its name and pid. */
  readonly hash: number;
  readonly #surroundings: InstanceSurroundings;
  readonly #tally: StartTally;
  /** When it was last heard of, by our clock, epoch ms. */
  lastSeenMs: number;
  /** When it was first heard of, by our clock, epoch ms. */
  readonly firstSeenMs: number;
  /** The worker table knows it no more. */
  forgotten = false;
  active: number | undefined = undefined;
  load: WorkerSignal['loadavg'] = undefined;
  version = '';
  system = '';
  /** It said goodbye, and has not said since that it is there. */
  #saidGoodbye = false;
  /** In the order in which they were said. */
  #held: { readonly signal: WorkerSignal; readonly arrivedAtMs: number }[] = [];
  #lastWord: Word | undefined;
  #wordBefore: Word | undefined;

  constructor(nodename: string, pid: number, surroundings: InstanceSurroundings, seenMs: number) {
    this.nodename = nodename;
    this.pid = pid;
    this.hash = hashOf(`${nodename} ${pid}`);
    this.#surroundings = surroundings;
    this.#tally = new StartTally(surroundings.windowMs);
    this.lastSeenMs = seenMs;
    this.firstSeenMs = seenMs;
  }

  /** Said goodbye for good: a goodbye with a greeting close behind it is a reconnect. */
  get offline(): boolean {
    return this.#saidGoodbye && this.#held.length === 0;
  }

  /** Not all that it said was taken to heart. */
  get hasMoreToSay(): boolean {
    return this.#held.length > 0;
  }

  /** A start of a task reached us that happened then, by its clock. */
  started(timestampMs: number): void {
    this.#tally.started(timestampMs);
  }

  /** Takes what it says of itself. */
  hear(signal: WorkerSignal, nowMs: number): void {
    const at = this.#held.findLastIndex((held) => !isBefore(signal, held.signal)) + 1;
    this.#held.splice(at, 0, { signal, arrivedAtMs: nowMs });
    if (this.#held.length <= HELD_SIGNALS_MAX) return;
    this.#heedFirst(1);
    this.#surroundings.onHurried();
  }

  /** Takes its words whose time has come to heart, and says what they add to what was known. */
  release(nowMs: number): void {
    if (this.#held.length === 0) return;
    const { windowMs } = this.#surroundings;
    this.#heedFirst(
      this.#held.findLastIndex(({ arrivedAtMs }) => hasPassed(windowMs, arrivedAtMs, nowMs)) + 1,
    );
  }

  /** Takes all its words to heart at once. */
  flush(): void {
    this.#heedFirst(this.#held.length);
  }

  /**
   * How many tasks it was running at some moment, and when that was by its own clock, such that by now everything is
   * known that had happened until then; undefined where it has not told.
   */
  settledActive(nowMs: number): { readonly active: number; readonly timestampMs: number } | undefined {
    const settledAfterMs = settlingMs(this.#surroundings.windowMs);
    return [this.#lastWord, this.#wordBefore].find(
      (word) => word !== undefined && hasPassed(settledAfterMs, word.arrivedAtMs, nowMs),
    );
  }

  #heedFirst(count: number): void {
    for (const { signal, arrivedAtMs } of this.#held.splice(0, count)) {
      const { processed, lost } = this.#heed(signal, arrivedAtMs);
      if (processed === 0 && lost === 0) continue;
      this.#surroundings.observe({
        kind: 'worker-progressed',
        worker: this.nodename,
        processed,
        eventsLost: lost,
      });
    }
  }

  #heed(signal: WorkerSignal, arrivedAtMs: number): Progress {
    const { timestampMs, active, processed } = signal;
    this.#saidGoodbye = signal.type === 'worker-offline';
    this.active = active ?? this.active;
    this.load = signal.loadavg ?? this.load;
    this.version = signal.softwareVersion || this.version;
    this.system = signal.softwareSystem || this.system;
    if (active !== undefined) {
      this.#wordBefore = this.#lastWord;
      this.#lastWord = { timestampMs, arrivedAtMs, active };
    }
    return processed === undefined ? { processed: 0, lost: 0 } : this.#tally.told(processed, timestampMs);
  }
}

/** Whether one was said before the other. */
function isBefore(one: WorkerSignal, other: WorkerSignal): boolean {
  if (one.timestampMs !== other.timestampMs) return one.timestampMs < other.timestampMs;
  return one.clock < other.clock;
}
