/**
 * The transport that replays a recording, at its original speed or at another. It delivers the messages up to the first
 * malformed line, and never writes.
 */
import { open, stat } from 'node:fs/promises';
import { reasonOf } from '../../text/errors.ts';
import { createPace, createYieldToLoop } from '../../timing/cooperative.ts';
import { pause } from '../../timing/pause.ts';
import type { Deliver, Opening, RawMessage, SessionEnd, SessionOptions, Transport } from '../broker.ts';
import { decodeHeader, decodeMessage, type WholeMessage } from './format.ts';
import { RECORDING } from './kind.ts';
import { LineTooLong, readLines } from './lines.ts';
import { ReplayClock } from './replay-clock.ts';

/** The longest delay of a Node timer. */
const TIMER_MS_MAX = 2 ** 31 - 1;

export function createRecordingTransport(): Transport {
  let clock = new ReplayClock(1);
  return {
    async open({ url, bodyBytesMax, signal }) {
      if (!RECORDING.owns(url)) return { kind: 'unusable', reason: 'not a recording' };
      clock = new ReplayClock(url.speed);
      return openReplay(url.file, clock, { bodyBytesMax, signal });
    },
    now: () => clock.now(),
    listenedMs: () => clock.now(),
  };
}

/** Opens the replay once the first message is known, which starts the clock. */
async function openReplay(
  file: string,
  clock: ReplayClock,
  { bodyBytesMax, signal }: Pick<SessionOptions, 'bodyBytesMax' | 'signal'>,
): Promise<Opening> {
  if (signal.aborted) return { kind: 'stopped' };
  // Reading a line can take as long as delivering its message, so each gets its own turn.
  const pace = createPace(createYieldToLoop());
  const messages = readMessages(file, bodyBytesMax);
  const first = await messages.next();
  if (signal.aborted) {
    await messages.return({ kind: 'finished' });
    return { kind: 'stopped' };
  }
  if (first.done === true && first.value.kind === 'unusable') return first.value;
  if (first.done !== true) clock.startOrWaitMs(first.value.arrivedAtMs);
  return { kind: 'opened', session: { receive: (deliver) => replay(first, messages, deliver) } };

  /** Delivers each message at its time, until the end. */
  async function replay(first: Next, following: Messages, deliver: Deliver): Promise<SessionEnd> {
    let next = first;
    for (; next.done !== true; next = await following.next()) {
      await pace();
      await waitUntil(next.value.arrivedAtMs);
      if (signal.aborted) break;
      deliver(next.value, clock.now(), next.value.arrivedAtMs);
      await pace();
    }
    clock.stop();
    if (next.done === true) return next.value;
    await following.return({ kind: 'finished' });
    return { kind: 'stopped' };
  }

  /** Waits until a time of the recording. It loops, because a timer may fire early and cannot be longer than a few weeks. */
  async function waitUntil(timeMs: number): Promise<void> {
    let waitMs = clock.startOrWaitMs(timeMs);
    while (waitMs > 0 && !signal.aborted) {
      await pause(Math.min(waitMs, TIMER_MS_MAX), signal);
      waitMs = clock.startOrWaitMs(timeMs);
    }
  }
}

/** Yields the messages, then returns why they end. */
type Messages = AsyncGenerator<RawMessage, ReadingEnd, undefined>;
type Next = IteratorResult<RawMessage, ReadingEnd>;
type ReadingEnd = Extract<SessionEnd, { kind: 'finished' | 'unusable' }>;

async function* readMessages(file: string, bodyBytesMax: number): Messages {
  let lineNumber = 0;
  const malformed = (line: number, reason: string): ReadingEnd => ({
    kind: 'unusable',
    reason: `${file}, line ${line}: ${reason}`,
  });
  try {
    // Opening a pipe would wait for a writer.
    if (!(await stat(file)).isFile()) return { kind: 'unusable', reason: `${file} is not a regular file` };
    const handle = await open(file);
    try {
      for await (const lines of readLines(handle)) {
        for (const line of lines) {
          lineNumber += 1;
          const read = lineNumber === 1 ? decodeHeader(line) : decodeMessage(line);
          if (!read.ok) return malformed(lineNumber, read.reason);
          if ('message' in read) yield withoutLargeBody(read.message, bodyBytesMax);
        }
      }
    } finally {
      await handle.close();
    }
    return lineNumber === 0 ? malformed(1, 'is missing, the file is empty') : { kind: 'finished' };
  } catch (error) {
    if (error instanceof LineTooLong) return malformed(lineNumber + 1, error.message);
    return { kind: 'unusable', reason: `cannot read ${file}: ${reasonOf(error)}` };
  }
}

/** Drops a body that is too large, as for messages of a broker. */
function withoutLargeBody(message: WholeMessage, bodyBytesMax: number): RawMessage {
  return message.body.length > bodyBytesMax ? { ...message, body: undefined } : message;
}
