/**
 * For how long a service has really listened. Silence is evidence only then: not while the broker is away, not after a
 * connection went dead unnoticed, not while the process was held up. Pure: the time is an argument.
 */

/** How often it is asked whether a proof is needed: in a quiet cluster, there is one each time. */
export const PROOF_INTERVAL_MS = 1000;
/** Between two proofs no more than this counts: if they are further apart, the process or the network was held up. */
const PROOFS_APART_MS_MAX = 1500;

export class ListeningClock {
  #listenedMs = 0;
  /** Monotonic and epoch ms of the last proof; undefined while nothing can be heard. */
  #provenAtMs: number | undefined;
  #wallAtProofMs: number | undefined;

  /** Monotonic, ms. */
  get listenedMs(): number {
    return this.#listenedMs;
  }

  /**
   * Messages can arrive from now on.
   * @param upMs monotonic ms
   * @param wallMs epoch ms
   */
  begin(upMs: number, wallMs: number): void {
    this.#provenAtMs = upMs;
    this.#wallAtProofMs = wallMs;
  }

  /** Something came from the broker: all that it had sent before has come, too. */
  proven(upMs: number, wallMs: number): void {
    if (this.#provenAtMs === undefined) return;
    this.#listenedMs += Math.min(Math.max(0, upMs - this.#provenAtMs), PROOFS_APART_MS_MAX);
    this.begin(upMs, wallMs);
  }

  /** Whether nothing has come for so long that a sign of life should be asked for. */
  needsProof(upMs: number): boolean {
    return this.#provenAtMs !== undefined && upMs - this.#provenAtMs >= PROOF_INTERVAL_MS / 2;
  }

  /** Nothing can be heard any more; the time since the last proof does not count. */
  end(): void {
    this.#provenAtMs = undefined;
  }

  /** The wall clock, which stands still while nothing is heard; epoch ms. */
  wallMs(upMs: number, wallMs: number): number {
    const isHeard = this.#provenAtMs !== undefined && upMs - this.#provenAtMs <= PROOFS_APART_MS_MAX;
    return isHeard ? wallMs : (this.#wallAtProofMs ?? wallMs);
  }
}
