/**
 * Lets whoever reads a stream have some of each turn of the event loop, however much there is to read: what is done with a
 * chunk is done before the next is read, and a socket whose sender is quick hands over megabytes in one turn. Meanwhile the
 * stream fills up, and its sender waits. What is read, nobody here knows.
 */
import type { Readable } from 'node:stream';

/** Of a turn; one chunk may take it beyond that. */
const READING_MS = 10;

/**
 * @param stream whose reader calls `read()` until that gives null, and again on 'readable'
 * @param onRead called before each chunk is handed over
 */
export function paceReading(stream: Readable, onRead: () => void = () => {}): void {
  const read = stream.read.bind(stream);
  /** In this turn; undefined before its first read. */
  let untilMs: number | undefined;
  let isHeldUp = false;

  function nextTurn(): void {
    untilMs = undefined;
    if (!isHeldUp) return;
    isHeldUp = false;
    if (!stream.destroyed) stream.emit('readable');
  }

  stream.read = (size?: number): unknown => {
    if (untilMs === undefined) {
      untilMs = performance.now() + READING_MS;
      setImmediate(nextTurn);
    } else if (performance.now() >= untilMs) {
      isHeldUp = true;
      return null;
    }
    const chunk: unknown = read(size);
    if (chunk !== null) onRead();
    return chunk;
  };
}
