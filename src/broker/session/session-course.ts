/**
 * The course of one session with a server: it opens in time or fails, and it ends once. If one failure causes several
 * errors, the first is reported, since it has the best message. It is independent of the protocol, and opens no connection
 * itself.
 */
import type { NotOpened, Opening, Session, SessionEnd, SessionOptions } from '../broker.ts';
import { Malformed } from '../server/malformed.ts';
import { plainReason } from '../server/tls-failure.ts';
import { type ListeningClock, PROOF_INTERVAL_MS } from './listening-clock.ts';

/** The parts of a session that differ between protocols. */
interface Parts {
  /** Connects, subscribes, then calls `opened`. */
  connect(): Promise<void>;
  /** Why the session could not be opened. */
  failureOf(error: unknown): NotOpened;
  /** Text about another server that listens there, if there was no reply: appended to the reason. Never rejects. */
  whoIsThere?(): Promise<string>;
  /** Called once, however far `connect` got; never throws. */
  close(): Promise<void> | void;
}

const STOPPED = { kind: 'stopped' } as const;

export class SessionCourse {
  readonly #options: SessionOptions;
  readonly #listening: ListeningClock;
  readonly #parts: Parts;
  readonly #opening = Promise.withResolvers<Opening>();
  readonly #ending = Promise.withResolvers<SessionEnd>();
  #phase: 'opening' | 'open' | 'over' = 'opening';
  #deadline: NodeJS.Timeout | undefined;
  #proofTimer: NodeJS.Timeout | undefined;
  #silentMs = 0;

  constructor(options: SessionOptions, listening: ListeningClock, parts: Parts) {
    this.#options = options;
    this.#listening = listening;
    this.#parts = parts;
  }

  get isOpen(): boolean {
    return this.#phase === 'open';
  }

  get isOver(): boolean {
    return this.#phase === 'over';
  }

  /** Resolves when the session has ended. */
  get ended(): Promise<SessionEnd> {
    return this.#ending.promise;
  }

  start(): Promise<Opening> {
    const { signal, connectTimeoutMs } = this.#options;
    signal.addEventListener('abort', this.#stop);
    if (signal.aborted) {
      this.#stop();
    } else {
      const giveUp = async (): Promise<void> => {
        const reason = `no reply within ${connectTimeoutMs} ms${(await this.#parts.whoIsThere?.()) ?? ''}`;
        this.#opening.resolve({ kind: 'unreachable', reason });
      };
      this.#deadline = setTimeout(() => this.#end(giveUp), connectTimeoutMs);
      this.#parts.connect().catch(this.broken);
    }
    return this.#opening.promise;
  }

  /** Restarts the connect timeout: the server has replied. */
  allowMoreTime(): void {
    this.#deadline?.refresh();
  }

  /**
   * @param ask called regularly from now on to request a sign of life; returns whether one has arrived since the last call
   * @param deadAfterMs how many milliseconds of silence end the session; 0: none do
   */
  opened(session: Session, ask: () => boolean, deadAfterMs: number): void {
    if (this.#phase !== 'opening') return;
    this.#phase = 'open';
    clearTimeout(this.#deadline);
    this.#proofTimer = setInterval(() => this.#prove(ask, deadAfterMs), PROOF_INTERVAL_MS).unref();
    this.#listening.begin(performance.now(), Date.now());
    this.#opening.resolve({ kind: 'opened', session });
  }

  #prove(ask: () => boolean, deadAfterMs: number): void {
    try {
      // Counted, not measured: if this process was suspended, the reply may have arrived without being read.
      this.#silentMs = ask() ? 0 : this.#silentMs + PROOF_INTERVAL_MS;
    } catch (error) {
      // After a protocol violation, even writing to the connection may fail.
      this.broken(error);
      return;
    }
    if (deadAfterMs > 0 && this.#silentMs >= deadAfterMs)
      this.broken(new Error(`no reply within ${deadAfterMs} ms`));
  }

  readonly broken = (error: unknown): void => {
    const { isOpen } = this;
    this.#end(() => {
      const kind = error instanceof Malformed ? 'malformed' : 'lost';
      if (isOpen) this.#ending.resolve({ kind, reason: plainReason(error) });
      else this.#opening.resolve(this.#parts.failureOf(error));
    });
  };

  readonly #stop = (): void => {
    this.#end(() => {
      this.#opening.resolve(STOPPED);
      this.#ending.resolve(STOPPED);
    });
  };

  async #end(settle: () => Promise<void> | void): Promise<void> {
    if (this.#phase === 'over') return;
    this.#phase = 'over';
    clearTimeout(this.#deadline);
    clearInterval(this.#proofTimer);
    this.#options.signal.removeEventListener('abort', this.#stop);
    this.#listening.end();
    await this.#parts.close();
    await settle();
  }
}
