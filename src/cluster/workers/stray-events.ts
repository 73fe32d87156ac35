/**
 * Worker events that cannot be a process’s own, since its counts or its clock would have fallen: whether they prove that
 * another process has replaced it, and which of two that share a pid sent an event. Pure.
 */
import type { HeldWorkerEvent } from '../window/held-worker-events.ts';
import { hasPassed, LATE_EVENTS_MS, RESTART_MS } from '../window/lateness.ts';

/** The proof that another process has started. */
export interface Restart {
  /** The first of its events to arrive. */
  readonly first: HeldWorkerEvent;
  /** Those to apply to it first. */
  readonly events: readonly HeldWorkerEvent[];
}

/** The factor by which the older process’s count must have grown less. */
const CLEARLY_CLOSER = 10;

/**
 * Whether the older of two processes that share a pid reported that count of started tasks.
 * @param older its last count
 * @param newer the count to be expected of the other
 */
export function belongsToOlder(processed: number, older = 0, newer = 0): boolean {
  const newerGrowth = processed - newer;
  return newerGrowth > CLEARLY_CLOSER && (processed - older) * CLEARLY_CLOSER < newerGrowth;
}

/** The state of a process when it sent `worker-offline`. */
interface Leaving {
  /** The most tasks that it had reported as started. */
  readonly highest: number;
  /** It was seen idle since. */
  readonly wasIdle: boolean;
  readonly lostTimeoutMs: number;
}

/**
 * Whether a process is back after its `worker-offline`: its `worker-online` may have been missed. In a warm shutdown
 * the gevent pool keeps sending heartbeats and starts prefetched tasks, but it does not idle, and stops eventually.
 */
export function comesBack(
  { type, session, active, processed = 0, arrivedAtMs }: HeldWorkerEvent,
  goodbye: HeldWorkerEvent,
  { highest, wasIdle, lostTimeoutMs }: Leaving,
): boolean {
  if (type === 'worker-online' || session !== goodbye.session) return true;
  const passedMs = arrivedAtMs - goodbye.arrivedAtMs;
  if (processed > highest) return passedMs > lostTimeoutMs;
  return passedMs > RESTART_MS && wasIdle && active === 0;
}

/** Whether the last event before a `worker-online` is a `worker-offline` from long before. */
export function isLongAfterGoodbye(online: HeldWorkerEvent, last: HeldWorkerEvent | undefined): boolean {
  if (last?.type !== 'worker-offline') return false;
  // A worker that had lost its own connection sends its old worker-offline once it is back.
  const passedMs = online.arrivedAtMs - last.arrivedAtMs;
  return Math.min(online.timestampMs - last.timestampMs, passedMs) > RESTART_MS;
}

export class StrayEvents {
  #foreign: HeldWorkerEvent | undefined;
  #late: HeldWorkerEvent | undefined;

  /**
   * Two of them prove a restart. If they seem older than the process’s own, they must continue for a while: late events
   * soon stop, those of a clock that was set back do not.
   */
  add(event: HeldWorkerEvent, isFromBefore: boolean): Restart | undefined {
    if (isFromBefore) {
      this.#late ??= event;
      if (!hasPassed(LATE_EVENTS_MS, this.#late.arrivedAtMs, event.arrivedAtMs)) return undefined;
      return { first: this.#late, events: [this.#late, event] };
    }
    const before = this.#foreign;
    this.#foreign ??= event;
    // Events that seemed late may have been the new process’s after all.
    return before && { first: this.#late ?? before, events: [before, event] };
  }

  /** Notes an event of the process itself. If it continues for long, it was not replaced. */
  noteOwn(arrivedAtMs: number): void {
    this.#late = undefined;
    if (this.#foreign !== undefined && hasPassed(LATE_EVENTS_MS, this.#foreign.arrivedAtMs, arrivedAtMs))
      this.#foreign = undefined;
  }
}
