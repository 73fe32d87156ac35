/**
 * Judges stray events: worker events that a process cannot have sent itself, since its counts or its clock would have fallen.
 * They may prove that another process with the same pid has replaced it. It also decides which of two such processes sent an
 * event, and whether one is back after its `worker-offline`. Pure.
 */
import type { HeldWorkerEvent } from '../window/held-worker-events.ts';
import { hasPassed, LATE_EVENTS_MS, RESTART_MS } from '../window/lateness.ts';

/** The proof that another process has started. */
export interface Restart {
  /** The first event of the new process that arrived. */
  readonly first: HeldWorkerEvent;
  /** The events to apply to the new process first. */
  readonly events: readonly HeldWorkerEvent[];
}

/** A count belongs to the older process if its growth is smaller than that of the newer process by this factor. */
const CLEARLY_CLOSER = 10;

/**
 * Whether the older of two processes that share a pid reported this count of started tasks.
 * @param older the last count of the older process
 * @param newer the expected count of the newer process
 */
export function belongsToOlder(processed: number, older = 0, newer = 0): boolean {
  const newerGrowth = processed - newer;
  return newerGrowth > CLEARLY_CLOSER && (processed - older) * CLEARLY_CLOSER < newerGrowth;
}

/** The state of a process when it sent `worker-offline`. */
interface StateAtGoodbye {
  /** The highest number of started tasks that it had reported. */
  readonly highest: number;
  /** Whether it was seen idle after its `worker-offline`. */
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
  { highest, wasIdle, lostTimeoutMs }: StateAtGoodbye,
): boolean {
  if (type === 'worker-online' || session !== goodbye.session) return true;
  const passedMs = arrivedAtMs - goodbye.arrivedAtMs;
  if (processed > highest) return passedMs > lostTimeoutMs;
  return passedMs > RESTART_MS && wasIdle && active === 0;
}

/** Whether the last event before a `worker-online` is a `worker-offline` from more than five seconds before. */
export function isLongAfterGoodbye(online: HeldWorkerEvent, last: HeldWorkerEvent | undefined): boolean {
  if (last?.type !== 'worker-offline') return false;
  // A worker that lost its own connection sends its old `worker-offline` only once it is back.
  const passedMs = online.arrivedAtMs - last.arrivedAtMs;
  return Math.min(online.timestampMs - last.timestampMs, passedMs) > RESTART_MS;
}

export class StrayEvents {
  /** The first event that another process seems to have sent later than this one’s events. */
  #foreign: HeldWorkerEvent | undefined;
  /** The first stray event that seems older than this process’s own events. */
  #late: HeldWorkerEvent | undefined;

  /**
   * Takes a stray event. Two of them prove a restart. If they seem older than the process’s own events, they must continue for
   * ten seconds: late events soon stop, but events of a clock that was set back do not.
   * @param isFromBefore whether the event seems older than the process’s own
   * @returns the restart, once it is proved
   */
  add(event: HeldWorkerEvent, isFromBefore: boolean): Restart | undefined {
    if (isFromBefore) {
      this.#late ??= event;
      if (!hasPassed(LATE_EVENTS_MS, this.#late.arrivedAtMs, event.arrivedAtMs)) return undefined;
      return { first: this.#late, events: [this.#late, event] };
    }
    const before = this.#foreign;
    this.#foreign ??= event;
    // The new process may have sent those events that seemed late.
    return before && { first: this.#late ?? before, events: [before, event] };
  }

  /** Takes an event of the process itself. If its own events continue for ten seconds, it was not replaced. */
  noteOwn(arrivedAtMs: number): void {
    this.#late = undefined;
    if (this.#foreign !== undefined && hasPassed(LATE_EVENTS_MS, this.#foreign.arrivedAtMs, arrivedAtMs))
      this.#foreign = undefined;
  }
}
