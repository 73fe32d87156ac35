/**
 * How much the server keeps for us, and whether some must be dropped: a subscriber that is too slow is disconnected, and
 * loses all of it. What arrives between a question and its answer was there before the question. Pure: it counts bytes.
 */

/**
 * By default Redis disconnects a subscriber for whom it keeps 32 MiB, or 8 MiB for a minute (redis.conf,
 * `client-output-buffer-limit`).
 */
const SHED_FROM_BYTES = 8 * 1024 * 1024;
/** Then it is nearly caught up with. */
const SHED_TO_BYTES = 1024 * 1024;

export class Backlog {
  #read = 0;
  #readAtQuestion: number | undefined;
  /** Whether messages are to be dropped unread. */
  isShedding = false;

  /** Bytes have arrived. */
  noteRead(bytes: number): void {
    this.#read += bytes;
    // A lower bound, as long as the answer is not there.
    if (this.#waiting >= SHED_FROM_BYTES) this.isShedding = true;
  }

  /** The server was asked something. */
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
