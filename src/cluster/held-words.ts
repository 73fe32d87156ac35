/**
 * What workers said of themselves and is not applied yet, in the order in which it reached us: one queue for all workers,
 * with one bound. Which word of a process comes before which, and what it means, is for the process to know.
 */
import type { WorkerSignal } from '../celery/event.ts';
import { hasPassed } from './lateness.ts';

/** A process that holds words. */
interface Holder {
  /** Applies the word that was said first. */
  applyEarliest(): void;
}

/** The texts of a signal, as they are kept. */
export type KeptTexts = Pick<WorkerSignal, 'softwareVersion' | 'softwareSystem'>;

/** When a word came. */
export interface Coming {
  /** In listened time, ms. */
  readonly arrivedAtMs: number;
  /** The same, less how long it took to come. */
  readonly spokeMs: number;
  /** The connection to the broker on which it came, counted. */
  readonly session: number;
}

/** A word that waits to be applied. Who said it is not in it: there may be very many. */
export class HeldWord implements Coming, Omit<WorkerSignal, 'hostname' | 'pid'> {
  readonly type: WorkerSignal['type'];
  /** By the worker's clock, epoch ms. */
  readonly timestampMs: number;
  readonly implausibleMs: number | undefined;
  readonly clock: number;
  readonly active: number | undefined;
  readonly processed: number | undefined;
  readonly loadavg: WorkerSignal['loadavg'];
  readonly softwareVersion: string;
  readonly softwareSystem: string;
  readonly arrivedAtMs: number;
  readonly spokeMs: number;
  readonly session: number;
  /** Where among the events of its process it came. */
  place = 0;
  /** Who is to apply it; undefined once it has. */
  holder: Holder | undefined = undefined;
  /** The one that reached us next. */
  nextArrived: HeldWord | undefined = undefined;

  constructor(signal: WorkerSignal, texts: KeptTexts, coming: Coming) {
    this.type = signal.type;
    this.timestampMs = signal.timestampMs;
    this.implausibleMs = signal.implausibleMs;
    this.clock = signal.clock;
    this.active = signal.active;
    this.processed = signal.processed;
    this.loadavg = signal.loadavg;
    this.softwareVersion = texts.softwareVersion;
    this.softwareSystem = texts.softwareSystem;
    this.arrivedAtMs = coming.arrivedAtMs;
    this.spokeMs = coming.spokeMs;
    this.session = coming.session;
  }
}

export class HeldWords {
  readonly #windowMs: number;
  readonly max: number;
  #first: HeldWord | undefined;
  #last: HeldWord | undefined;
  #size = 0;
  #appliedEarly = 0;

  /**
   * @param windowMs how much later than a word an earlier one may come
   * @param max words held at most; beyond it the one that came first is applied early, and counted
   */
  constructor(windowMs: number, max: number) {
    this.#windowMs = windowMs;
    this.max = max;
  }

  /** Words in it, those that were applied before their turn included. */
  get size(): number {
    return this.#size;
  }

  /** Words that were applied before an earlier one could have come, for lack of room. */
  get appliedEarly(): number {
    return this.#appliedEarly;
  }

  /** Takes a word that a process holds. */
  add(word: HeldWord): void {
    if (this.#size >= this.max && this.#first !== undefined) {
      if (this.#first.holder !== undefined) this.#appliedEarly += 1;
      this.#takeFirst(this.#first);
    }
    if (this.#last === undefined) this.#first = word;
    else this.#last.nextArrived = word;
    this.#last = word;
    this.#size += 1;
  }

  /**
   * Has those applied that have been held for long enough, and what was said before them.
   * @param max of those that have been held for long enough
   * @returns whether there are more of them
   */
  release(listenedMs: number, max = Number.POSITIVE_INFINITY): boolean {
    for (let given = 0; this.#first !== undefined; given += 1) {
      if (!hasPassed(this.#windowMs, this.#first.arrivedAtMs, listenedMs)) return false;
      if (given >= max) return true;
      this.#takeFirst(this.#first);
    }
    return false;
  }

  #takeFirst(first: HeldWord): void {
    // It may come to be held by another process meanwhile.
    while (first.holder !== undefined) first.holder.applyEarliest();
    this.#first = first.nextArrived;
    // Some are kept for longer, and must not keep all that came after them.
    first.nextArrived = undefined;
    if (this.#first === undefined) this.#last = undefined;
    this.#size -= 1;
  }
}
