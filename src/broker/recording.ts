/**
 * The transport that replays a recording, at the pace at which it was made or another one. It never writes, and it
 * delivers what the file holds up to the first line that is wrong.
 */
import { type FileHandle, open, stat } from 'node:fs/promises';
import type { SessionEnd, SessionOptions, Transport } from './broker.ts';
import type { RecordingUrl } from './broker-url.ts';
import { pause } from './pause.ts';
import { decodeHeader, decodeMessage } from './recording-format.ts';
import { LineTooLong, readLines } from './recording-lines.ts';
import { ReplayClock } from './replay-clock.ts';

/** The longest time that a timer of Node can wait. */
const TIMER_MS_MAX = 2 ** 31 - 1;

export function createRecordingTransport(): Transport {
  let clock = new ReplayClock(1);
  return {
    async run(options) {
      const { url } = options;
      if (url.scheme !== 'recording') return { kind: 'unusable', reason: 'not a recording' };
      clock = new ReplayClock(url.speed);
      const end = await new Replay(options, url, clock).run();
      clock.stop();
      return end;
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

class Replay {
  readonly #options: SessionOptions;
  readonly #url: RecordingUrl;
  readonly #clock: ReplayClock;
  #lineNumber = 0;
  #ready = false;

  constructor(options: SessionOptions, url: RecordingUrl, clock: ReplayClock) {
    this.#options = options;
    this.#url = url;
    this.#clock = clock;
  }

  async run(): Promise<SessionEnd> {
    const { file } = this.#url;
    if (this.#options.signal.aborted) return { kind: 'stopped' };
    try {
      // Opening a pipe would wait for somebody to write to it.
      if (!(await stat(file)).isFile()) return { kind: 'unusable', reason: `${file} is not a regular file` };
      const handle = await open(file);
      try {
        return await this.#replay(handle);
      } finally {
        await handle.close();
      }
    } catch (error) {
      if (error instanceof LineTooLong) return this.#malformed(this.#lineNumber + 1, error.message);
      const reason = error instanceof Error ? error.message : String(error);
      return { kind: 'unusable', reason: `cannot read ${file}: ${reason}` };
    }
  }

  async #replay(handle: FileHandle): Promise<SessionEnd> {
    for await (const lines of readLines(handle)) {
      for (const line of lines) {
        this.#lineNumber += 1;
        const end = this.#lineNumber === 1 ? this.#checkHeader(line) : await this.#replayMessage(line);
        if (end !== undefined) return end;
      }
    }
    if (this.#lineNumber === 0) return this.#malformed(1, 'is missing, the file is empty');
    this.#becomeReady();
    return { kind: 'finished' };
  }

  #checkHeader(line: Buffer): SessionEnd | undefined {
    const header = decodeHeader(line);
    return header.ok ? undefined : this.#malformed(1, header.reason);
  }

  /** Waits for the message's time and delivers it; undefined: the replay goes on. */
  async #replayMessage(line: Buffer): Promise<SessionEnd | undefined> {
    const { signal, deliver } = this.#options;
    if (signal.aborted) return { kind: 'stopped' };
    const decoded = decodeMessage(line);
    if (!decoded.ok) return this.#malformed(this.#lineNumber, decoded.reason);
    const { message } = decoded;
    let waitMs = this.#clock.approach(message.arrivedAtMs);
    this.#becomeReady();
    // A timer may be a little early, and cannot wait for more than some weeks at once.
    while (waitMs > 0 && !signal.aborted) {
      await pause(Math.min(waitMs, TIMER_MS_MAX), signal);
      waitMs = this.#clock.approach(message.arrivedAtMs);
    }
    if (signal.aborted) return { kind: 'stopped' };
    deliver(message, this.#clock.now());
    return undefined;
  }

  /** Only once the first message is known, with which the clock begins. */
  #becomeReady(): void {
    if (this.#ready) return;
    this.#ready = true;
    this.#options.ready();
  }

  #malformed(lineNumber: number, reason: string): SessionEnd {
    return { kind: 'unusable', reason: `${this.#url.file}, line ${lineNumber}: ${reason}` };
  }
}
