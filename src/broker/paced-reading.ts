/**
 * Lets whoever reads streams have some of each turn of the event loop, however much there is to read and in however many
 * of them: what is done with a chunk is done before the next is read, and a socket whose sender is quick hands over
 * megabytes in one turn. Meanwhile the streams fill up, and their senders wait. A chunk may hold more than a turn has time
 * for: its reader asks in between, and gives back what is left. What is read, nobody here knows.
 */
import type { Readable } from 'node:stream';

/** Of a turn, for all streams together; what is begun before it is over may take it beyond that. */
const READING_MS = 6;
/** Without it, a stream would read as much from its socket as it hands over, although most of that is given back. */
const CHUNK_BYTES_MAX = 64 * 1024;

interface Reader {
  /** The last turn in which it asked, and its part of that. */
  turn: number;
  untilMs: number;
  /** The last turn in which it read something. */
  readIn: number;
  readonly goOn: () => void;
}

/** Reading of all streams, for they have one event loop. */
class ReadingTurns {
  #turn = 0;
  /** Undefined before the first read of a turn. */
  #untilMs: number | undefined;
  #readers = 0;
  #readersBefore = 1;
  readonly #heldUp = new Set<Reader>();

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
      return this.hold(reader);
    }
    reader.readIn = this.#turn;
    return true;
  }

  /** It continues in the next turn, which is scheduled since something was read in this one. */
  hold(reader: Reader): false {
    this.#heldUp.add(reader);
    return false;
  }

  readonly #next = (): void => {
    this.#turn += 1;
    this.#untilMs = undefined;
    this.#readersBefore = this.#readers;
    this.#readers = 0;
    if (this.#heldUp.size === 0) return;
    // Whoever read longest ago goes on first, so that each has its turn.
    const due = [...this.#heldUp].sort((a, b) => a.readIn - b.readIn);
    this.#heldUp.clear();
    // What one of them throws is not to keep the others from going on.
    for (const { goOn } of due) process.nextTick(goOn);
  };
}

const turns = new ReadingTurns();

/** Follows what is read of one stream. */
export interface ReadingObserver {
  /** Called before each chunk is handed over; monotonic ms. */
  readonly onRead: (upMs: number) => void;
  /** Whether more of a chunk is wanted in this turn. */
  readonly takesMore: () => boolean;
}

const NO_OBSERVER: ReadingObserver = { onRead: () => {}, takesMore: () => true };

/**
 * @param stream whose reader calls `read()` until that gives null, and again on 'readable'
 * @returns whether there is time for more of a chunk; if not, the reader gives the rest back with `unshift`. For the
 * beginning there always is, or many streams would share a turn so far that none gets on.
 */
export function paceReading(
  stream: Readable,
  { onRead, takesMore }: ReadingObserver = NO_OBSERVER,
): () => boolean {
  const read = stream.read.bind(stream);
  let isBegun = false;
  const reader: Reader = {
    turn: -1,
    untilMs: 0,
    readIn: -1,
    goOn() {
      if (!stream.destroyed) stream.emit('readable');
    },
  };
  stream.read = (size?: number): unknown => {
    const nowMs = performance.now();
    if (!turns.mayRead(reader, nowMs)) return null;
    const most = stream.readableLength > CHUNK_BYTES_MAX ? CHUNK_BYTES_MAX : undefined;
    const chunk: unknown = read(size ?? most);
    if (chunk === null) return null;
    isBegun = false;
    onRead(nowMs);
    return chunk;
  };
  return () => {
    if (!takesMore()) return turns.hold(reader);
    if (isBegun) return turns.mayRead(reader, performance.now());
    isBegun = true;
    return true;
  };
}
