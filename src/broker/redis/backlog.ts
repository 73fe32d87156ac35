/**
 * Estimates how many bytes Redis buffers for us, and whether messages must be dropped: Redis disconnects a subscriber that is
 * too slow, which then loses all of them. The bytes that arrive between a request and its reply were buffered before the
 * request. Pure; it drops nothing itself.
 */

/**
 * From this many buffered bytes on, messages are dropped. By default Redis disconnects a subscriber when it buffers 32 MiB, or
 * 8 MiB for a minute (redis.conf, `client-output-buffer-limit`).
 */
const SHED_FROM_BYTES = 8 * 1024 * 1024;
/** Below this many buffered bytes, we have nearly caught up, and messages are no longer dropped. */
const SHED_TO_BYTES = 1024 * 1024;

export class Backlog {
  #read = 0;
  #readAtQuestion: number | undefined;
  /** Whether to drop messages unread. */
  isShedding = false;

  /** Notes that bytes have arrived. */
  noteRead(bytes: number): void {
    this.#read += bytes;
    // Until the reply arrives, the number of waiting bytes is a lower bound.
    if (this.#waiting >= SHED_FROM_BYTES) this.isShedding = true;
  }

  /** Notes that a request was sent to the server. */
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
