/**
 * Limits how much of each event loop turn goes into reading streams, for all streams together: a fast sender could fill
 * a whole turn with megabytes. When the time is used up, reading pauses until the next turn; the streams fill up, and
 * TCP slows the senders down. Within a chunk, the reader checks whether there is time for more and puts back the rest.
 * It does not read the content.
 */
import type { Readable } from 'node:stream';

/** The reading time of one turn, for all streams together; the last chunk or message may exceed it. */
const READING_MS = 6;
/** The largest chunk that is handed over: without this limit, a stream would refill from its socket everything it hands over, although most is put back. */
const CHUNK_BYTES_MAX = 64 * 1024;

/** The reader of one stream, and its share of the reading time. */
class Reader {
  /** The last turn in which it requested time, and the end of its share of that turn, monotonic ms. */
  turn = -1;
  untilMs = 0;
  /** The last turn in which it read something. */
  readIn = -1;
  readonly resume: () => void;

  constructor(resume: () => void) {
    this.resume = resume;
  }
}

/** The time for reading in each event loop turn, shared by all streams of the process. */
class ReadingBudget {
  #turn = 0;
  /** The end of this turn’s reading time, monotonic ms; undefined before the first read of a turn. */
  #untilMs: number | undefined;
  #readers = 0;
  #readersBefore = 1;
  readonly #paused = new Set<Reader>();

  mayRead(reader: Reader, nowMs: number): boolean {
    if (this.#untilMs === undefined) {
      this.#untilMs = nowMs + READING_MS;
      setImmediate(this.#next);
    }
    if (reader.turn !== this.#turn) {
      reader.turn = this.#turn;
      reader.untilMs = Math.min(this.#untilMs, nowMs + READING_MS / this.#readersBefore);
      this.#readers += 1;
    }
    if (nowMs >= reader.untilMs) {
      return this.pause(reader);
    }
    reader.readIn = this.#turn;
    return true;
  }

  /** Pauses a reader until the next turn, which is already scheduled because something was read in this turn. */
  pause(reader: Reader): false {
    this.#paused.add(reader);
    return false;
  }

  readonly #next = (): void => {
    this.#turn += 1;
    this.#untilMs = undefined;
    this.#readersBefore = this.#readers;
    this.#readers = 0;
    if (this.#paused.size === 0) return;
    // The stream that was read least recently goes first, so that none starves.
    const due = [...this.#paused].sort((a, b) => a.readIn - b.readIn);
    this.#paused.clear();
    // A stream that throws must not stop the others.
    for (const { resume } of due) process.nextTick(resume);
  };
}

const budget = new ReadingBudget();

/**
 * Paces a reader that gets all messages of a chunk at once, and itself keeps the messages that do not fit into the turn.
 * @param resume called in the next turn after the time was used up
 * @returns whether there is time for one more message
 */
export function paceMessages(resume: () => void): () => boolean {
  const reader = new Reader(resume);
  return () => budget.mayRead(reader, performance.now());
}

/** Follows the reading of one stream. */
export interface ReadingObserver {
  /** Called before each chunk is handed over; monotonic ms. */
  readonly onRead: (upMs: number) => void;
  /** Whether more of a chunk is wanted in this turn. */
  readonly takesMore: () => boolean;
}

/**
 * Paces the reading of a stream.
 * @param stream its reader must call `read()` until that returns null, and again on 'readable'
 * @returns whether there is time for more of a chunk; if not, the reader puts the rest back with `unshift`. The first call
 * for a chunk is always true: with many streams, none would make progress otherwise.
 */
export function paceReading(stream: Readable, { onRead, takesMore }: ReadingObserver): () => boolean {
  const read = stream.read.bind(stream);
  let isBegun = false;
  const reader = new Reader(() => {
    if (!stream.destroyed) stream.emit('readable');
  });
  stream.read = (size?: number): unknown => {
    const nowMs = performance.now();
    if (!budget.mayRead(reader, nowMs)) return null;
    const most = stream.readableLength > CHUNK_BYTES_MAX ? CHUNK_BYTES_MAX : undefined;
    const chunk: unknown = read(size ?? most);
    if (chunk === null) return null;
    isBegun = false;
    onRead(nowMs);
    return chunk;
  };
  return () => {
    if (!takesMore()) return budget.pause(reader);
    if (isBegun) return budget.mayRead(reader, performance.now());
    isBegun = true;
    return true;
  };
}
