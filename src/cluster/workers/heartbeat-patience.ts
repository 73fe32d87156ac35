/** Computes from the announced interval of heartbeats how long a worker may be silent. Pure; it keeps nothing. */

/** For how many announced intervals a worker may be silent: one heartbeat may be lost, and the next one late. */
const PATIENCE = 2.5;
/** The longest interval that counts, in seconds: a forged longer one must not keep a dead worker for days. */
const FREQ_S_MAX = 3600;

interface Heartbeat {
  /** Seconds until the next heartbeat; undefined if not announced. */
  readonly freqS?: number | undefined;
  /** Undefined in a heartbeat that replies to remote control, whose `freq` is constant and therefore ignored. */
  readonly processed?: number | undefined;
}

/** For how many ms the sender of a heartbeat may be silent; undefined if the heartbeat does not announce the next one. */
export function patienceMs({ freqS, processed }: Heartbeat): number | undefined {
  if (freqS === undefined || processed === undefined) return undefined;
  return Math.ceil(PATIENCE * Math.min(freqS, FREQ_S_MAX) * 1000);
}

/** The effective timeout of a worker, ms: the configured one, or longer if its heartbeats are slower than that expects. */
export function silenceMs(timeoutMs: number, { patienceMs }: { readonly patienceMs: number }): number {
  return Math.max(timeoutMs, patienceMs);
}
