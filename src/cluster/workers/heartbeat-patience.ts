/** For how long a worker may be silent before that means anything, by what its heartbeats announce. Pure; it keeps nothing. */

/** Of the announced time: one heartbeat may be lost, and the next one late. */
const PATIENCE = 2.5;
/** A longer time counts as this one, since a forged one must not keep a dead worker for days. */
const FREQ_S_MAX = 3600;

interface Heartbeat {
  /** Until the next one; undefined if it does not say. */
  readonly freqS?: number | undefined;
  /** One that answers remote control has no numbers, and the same `freq` whatever the worker’s is. */
  readonly processed?: number | undefined;
}

/** How long its sender may be silent before that means anything, ms; undefined if the event does not say. */
export function patienceMs({ freqS, processed }: Heartbeat): number | undefined {
  if (freqS === undefined || processed === undefined) return undefined;
  return Math.ceil(PATIENCE * Math.min(freqS, FREQ_S_MAX) * 1000);
}

/** The timeout that holds for a worker: it may send heartbeats more slowly than the configured one expects. */
export function silenceMs(timeoutMs: number, { patienceMs }: { readonly patienceMs: number }): number {
  return Math.max(timeoutMs, patienceMs);
}
