/** How long a worker may be silent before it matters, by what its heartbeats announce. Pure; it keeps nothing. */

/** Of the announced time: one heartbeat may be lost, and the next one late. */
const PATIENCE = 2.5;
/** A longer time counts as this one, since a forged one must not keep a dead worker for days. */
const FREQ_S_MAX = 3600;

interface Heartbeat {
  /** Time until the next heartbeat; undefined if not announced. */
  readonly freqS?: number | undefined;
  /** One that replies to remote control has no numbers, and a constant `freq`. */
  readonly processed?: number | undefined;
}

/** How long its sender may be silent before it matters, ms; undefined if the event does not announce it. */
export function patienceMs({ freqS, processed }: Heartbeat): number | undefined {
  if (freqS === undefined || processed === undefined) return undefined;
  return Math.ceil(PATIENCE * Math.min(freqS, FREQ_S_MAX) * 1000);
}

/** The effective timeout of a worker: it may send heartbeats more slowly than the configured one expects. */
export function silenceMs(timeoutMs: number, { patienceMs }: { readonly patienceMs: number }): number {
  return Math.max(timeoutMs, patienceMs);
}
