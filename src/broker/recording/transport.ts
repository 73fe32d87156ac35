/**
 * The transport that replays a recording, at the pace at which it was made or another one. It never writes, and it
 * delivers what the file holds up to the first line that is wrong.
 */
import { open, stat } from 'node:fs/promises';
import { createPace, createTurns } from '../../turns.ts';
import type { Deliver, Opening, RawMessage, SessionEnd, Transport } from '../broker.ts';
import { pause } from '../pause.ts';
import { decodeHeader, decodeMessage } from './format.ts';
import { LineTooLong, readLines } from './lines.ts';
import { ReplayClock } from './replay-clock.ts';

/** The longest time that a timer of Node can wait. */
const TIMER_MS_MAX = 2 ** 31 - 1;

export function createRecordingTransport(): Transport {
  let clock = new ReplayClock(1);
  return {
    async open({ url, signal }) {
      if (url.scheme !== 'recording') return { kind: 'unusable', reason: 'not a recording' };
      clock = new ReplayClock(url.speed);
      return openReplay(url.file, clock, signal);
    },
    now: () => clock.now(),
    listenedMs: () => clock.now(),
    reachable: async (url) => url.scheme === 'recording' && (await isFile(url.file)),
  };
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch {
    // Whatever the reason is: there is no file that could be read.
    return false;
  }
}

/** Only once the first message is known, with which the clock begins. */
async function openReplay(file: string, clock: ReplayClock, signal: AbortSignal): Promise<Opening> {
  if (signal.aborted) return { kind: 'stopped' };
  const messages = readMessages(file);
  const first = await messages.next();
  if (signal.aborted) {
    await messages.return({ kind: 'finished' });
    return { kind: 'stopped' };
  }
  if (first.done === true && first.value.kind === 'unusable') return first.value;
  if (first.done !== true) clock.approach(first.value.arrivedAtMs);
  return { kind: 'opened', session: { receive: (deliver) => replay(first, messages, deliver) } };

  /** Delivers each message at its time, until there are no more. */
  async function replay(first: Next, following: Messages, deliver: Deliver): Promise<SessionEnd> {
    const pace = createPace(createTurns());
    let next = first;
    for (; next.done !== true; next = await following.next()) {
      await reach(next.value.arrivedAtMs);
      if (signal.aborted) break;
      deliver(next.value, clock.now());
      await pace();
    }
    clock.stop();
    if (next.done === true) return next.value;
    await following.return({ kind: 'finished' });
    return { kind: 'stopped' };
  }

  /** A timer may be a little early, and cannot wait for more than some weeks at once. */
  async function reach(timeMs: number): Promise<void> {
    let waitMs = clock.approach(timeMs);
    while (waitMs > 0 && !signal.aborted) {
      await pause(Math.min(waitMs, TIMER_MS_MAX), signal);
      waitMs = clock.approach(timeMs);
    }
  }
}

/** Messages, and why there are no more. */
type Messages = AsyncGenerator<RawMessage, ReadingEnd, undefined>;
type Next = IteratorResult<RawMessage, ReadingEnd>;
type ReadingEnd = Extract<SessionEnd, { kind: 'finished' | 'unusable' }>;

async function* readMessages(file: string): Messages {
  let lineNumber = 0;
  const malformed = (line: number, reason: string): ReadingEnd => ({
    kind: 'unusable',
    reason: `${file}, line ${line}: ${reason}`,
  });
  try {
    // Opening a pipe would wait for somebody to write to it.
    if (!(await stat(file)).isFile()) return { kind: 'unusable', reason: `${file} is not a regular file` };
    const handle = await open(file);
    try {
      for await (const lines of readLines(handle)) {
        for (const line of lines) {
          lineNumber += 1;
          const read = lineNumber === 1 ? decodeHeader(line) : decodeMessage(line);
          if (!read.ok) return malformed(lineNumber, read.reason);
          if ('message' in read) yield read.message;
        }
      }
    } finally {
      await handle.close();
    }
    return lineNumber === 0 ? malformed(1, 'is missing, the file is empty') : { kind: 'finished' };
  } catch (error) {
    if (error instanceof LineTooLong) return malformed(lineNumber + 1, error.message);
    const reason = error instanceof Error ? error.message : String(error);
    return { kind: 'unusable', reason: `cannot read ${file}: ${reason}` };
  }
}
