/**
 * The worker events that are not applied yet, in order of arrival: one bounded queue for all workers. It decides only when an
 * event is due; the worker process that holds the event decides the order of its events, and interprets them.
 */
import type { WorkerSignal } from '../../celery/event.ts';
import type { Names } from '../names.ts';
import { hasPassed } from './lateness.ts';

/** A worker process that holds events. */
interface Holder {
  /** Applies the held event that the worker sent first. */
  applyEarliest(): void;
}

/** When an event arrived. */
export interface Arrival {
  /** When the event arrived, in listened time, ms. */
  readonly arrivedAtMs: number;
  /** `arrivedAtMs` less the delay of the event, which counts up to one reordering window. */
  readonly seenMs: number;
  /** The number of the broker connection on which the event arrived. */
  readonly session: number;
}

/** A worker event that waits to be applied. It does not name its worker, to save memory. */
export class HeldWorkerEvent implements Arrival, Omit<WorkerSignal, 'hostname' | 'pid' | 'freqS'> {
  readonly type: WorkerSignal['type'];
  /** When the event was sent, by the worker's clock, epoch ms. */
  readonly timestampMs: number;
  readonly implausibleMs: number | undefined;
  readonly clock: number;
  readonly active: number | undefined;
  readonly processed: number | undefined;
  readonly loadavg: WorkerSignal['loadavg'];
  readonly softwareVersion: string;
  readonly softwareSystem: string;
  readonly arrivedAtMs: number;
  readonly seenMs: number;
  readonly session: number;
  /** The number of the event among the arrivals of its pid. */
  place = 0;
  /** The process that will apply the event; undefined once it is applied. */
  holder: Holder | undefined = undefined;
  /** The event that arrived next. */
  nextArrived: HeldWorkerEvent | undefined = undefined;

  /** @param names interns the texts */
  constructor(signal: WorkerSignal, names: Names, arrival: Arrival) {
    this.type = signal.type;
    this.timestampMs = signal.timestampMs;
    this.implausibleMs = signal.implausibleMs;
    this.clock = signal.clock;
    this.active = signal.active;
    this.processed = signal.processed;
    this.loadavg = signal.loadavg;
    this.softwareVersion = names.intern(signal.softwareVersion);
    this.softwareSystem = names.intern(signal.softwareSystem);
    this.arrivedAtMs = arrival.arrivedAtMs;
    this.seenMs = arrival.seenMs;
    this.session = arrival.session;
  }
}

export class HeldWorkerEvents {
  readonly #windowMs: number;
  /** The most events to hold. */
  readonly max: number;
  #first: HeldWorkerEvent | undefined;
  #last: HeldWorkerEvent | undefined;
  /** How many events are in the queue, including those that are already applied. */
  size = 0;
  /** How many events were applied early for lack of room, when an earlier one could still have arrived. */
  appliedEarly = 0;

  /**
   * @param windowMs how much later than an event an earlier one may arrive, ms
   * @param max the most events to hold; beyond it the event that arrived first is applied early, and counted
   */
  constructor(windowMs: number, max: number) {
    this.#windowMs = windowMs;
    this.max = max;
  }

  /** Adds an event that a process holds. */
  add(event: HeldWorkerEvent): void {
    if (this.size >= this.max && this.#first !== undefined) {
      if (this.#first.holder !== undefined) this.appliedEarly += 1;
      this.#takeFirst(this.#first);
    }
    if (this.#last === undefined) this.#first = event;
    else this.#last.nextArrived = event;
    this.#last = event;
    this.size += 1;
  }

  /**
   * Makes the holders apply the due events, and before each of them those that were sent earlier.
   * @param max the most events to apply
   * @returns whether more are due
   */
  release(listenedMs: number, max = Number.POSITIVE_INFINITY): boolean {
    for (let applied = 0; this.#first !== undefined; ) {
      if (!hasPassed(this.#windowMs, this.#first.arrivedAtMs, listenedMs)) return false;
      const { holder } = this.#first;
      if (holder === undefined) {
        this.#takeFirst(this.#first);
        continue;
      }
      if (applied >= max) return true;
      holder.applyEarliest();
      applied += 1;
    }
    return false;
  }

  #takeFirst(first: HeldWorkerEvent): void {
    // Applying an event may make another process the holder of this one.
    while (first.holder !== undefined) first.holder.applyEarliest();
    this.#first = first.nextArrived;
    // A process may keep the event, which must not keep all later ones in memory.
    first.nextArrived = undefined;
    if (this.#first === undefined) this.#last = undefined;
    this.size -= 1;
  }
}
