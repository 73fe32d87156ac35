/**
 * Measures listened time: for how long events could reach a service. Only in that time is the silence of a worker evidence,
 * not while the broker is unavailable, a connection is dead but not yet closed, or the process is suspended. Pure: time is an
 * argument.
 */

/** How often to check whether a proof of life is needed: in a quiet cluster, each check requests one. */
export const PROOF_INTERVAL_MS = 1000;
/** The most listened time that counts between two proofs: a longer gap means that the process or the network was stalled. */
const PROOFS_APART_MS_MAX = 1500;

export class ListeningClock {
  /** The listened time so far, ms; it never decreases. */
  listenedMs = 0;
  /** When data last arrived, monotonic ms; undefined while disconnected. */
  #provenAtMs: number | undefined;
  /** When data last arrived, epoch ms; undefined before the first connection. */
  #wallAtProofMs: number | undefined;
  /** Epoch ms minus monotonic ms when the connection began. */
  #offsetMs = 0;

  /**
   * Messages can arrive from now on.
   * @param upMs monotonic ms
   * @param wallMs epoch ms
   */
  begin(upMs: number, wallMs: number): void {
    this.#offsetMs = wallMs - upMs;
    this.#provenAtMs = upMs;
    this.#wallAtProofMs = wallMs;
  }

  /** Data has arrived, and with it everything that the broker sent earlier. */
  proven(upMs: number, wallMs: number): void {
    if (this.#provenAtMs === undefined) return;
    this.listenedMs += Math.min(Math.max(0, upMs - this.#provenAtMs), PROOFS_APART_MS_MAX);
    this.#provenAtMs = upMs;
    this.#wallAtProofMs = wallMs;
  }

  /** When data last arrived, epoch ms, by a clock that is never adjusted while connected. */
  get steadyMs(): number {
    return this.#offsetMs + (this.#provenAtMs ?? 0);
  }

  /** Whether nothing has arrived for so long that a proof of life is needed. */
  needsProof(upMs: number): boolean {
    return this.#provenAtMs !== undefined && upMs - this.#provenAtMs >= PROOF_INTERVAL_MS / 2;
  }

  /** The connection has ended; the time since the last proof does not count. */
  end(): void {
    this.#provenAtMs = undefined;
  }

  /** The wall clock, stopped while disconnected; epoch ms. */
  wallMs(upMs: number, wallMs: number): number {
    const isLive = this.#provenAtMs !== undefined && upMs - this.#provenAtMs <= PROOFS_APART_MS_MAX;
    return isLive ? wallMs : (this.#wallAtProofMs ?? wallMs);
  }
}
