/**
 * Estimates how much the server buffers for us, and whether messages must be dropped: a subscriber that is too slow is
 * disconnected, and loses all of them. What arrives between a request and its reply was buffered before the request.
 * Pure: it counts bytes.
 */

/**
 * By default Redis disconnects a subscriber when it buffers 32 MiB, or 8 MiB for a minute (redis.conf,
 * `client-output-buffer-limit`).
 */
const SHED_FROM_BYTES = 8 * 1024 * 1024;
/** Below this, we have nearly caught up. */
const SHED_TO_BYTES = 1024 * 1024;

export class Backlog {
  #read = 0;
  #readAtQuestion: number | undefined;
  /** Whether to drop messages unread. */
  isShedding = false;

  /** Bytes have arrived. */
  noteRead(bytes: number): void {
    this.#read += bytes;
    // A lower bound until the reply arrives.
    if (this.#waiting >= SHED_FROM_BYTES) this.isShedding = true;
  }

  /** A request was sent to the server. */
  noteQuestion(): void {
    this.#readAtQuestion ??= this.#read;
  }

  noteAnswer(): void {
    if (this.#waiting < SHED_TO_BYTES) this.isShedding = false;
    this.#readAtQuestion = undefined;
  }

  get #waiting(): number {
    return this.#readAtQuestion === undefined ? 0 : this.#read - this.#readAtQuestion;
  }
}
