/**
 * Keeps one service's messages coming: open → receive → why it ended → wait, the same for every transport. It knows
 * neither sockets nor messages, and nothing that a broker does ends it but the end of the messages themselves.
 */
import { performance } from 'node:perf_hooks';
import type { DefectPlace, Tell } from '../self/self-event.ts';
import { awaitRetry } from './await-retry.ts';
import type { BrokerSettings, Deliver, NotOpened, RawMessage, SessionEnd, Transport } from './broker.ts';
import type { BrokerUrl } from './broker-url.ts';
import { type AttemptOutcome, Failover } from './failover.ts';
import { ListeningClock } from './listening-clock.ts';
import { TRANSPORTS, type Transports } from './transports.ts';

/** A session that stood this long was healthy, even if its cluster had nothing to say. */
const HEALTHY_AFTER_MS = 60_000;

export interface ListenOptions extends BrokerSettings {
  /** The service that self events are told of. */
  readonly service: string;
  /** A larger body is not kept, be it to look at it. */
  readonly bodyBytesMax: number;
  readonly deliver: Deliver;
  readonly tell: Tell;
  /** In [0, 1). */
  readonly random: () => number;
  /** Ends the listening, at any point. */
  readonly signal: AbortSignal;
  /** Called whenever messages can arrive from now on: at first, and after each gap. */
  readonly ready?: () => void;
  /** Called when one session is over and another is to follow, and waited for: no message comes meanwhile. */
  readonly between?: () => Promise<void>;
  /** For tests; else the table of all transports. */
  readonly transports?: Transports;
}

export interface Listener {
  /** Why the listening ended for good; the reason of `unusable` was told. Never rejects. */
  readonly done: Promise<'stopped' | 'finished' | 'unusable'>;
  /** The clock of the transport in use, epoch ms; it stands still while nothing can be heard. */
  now(): number;
  /** For how long messages could be heard, ms; monotonic. */
  listenedMs(): number;
  /** Whether messages can arrive now. */
  connected(): boolean;
}

/** Starts to listen; what happens is told, and messages are delivered until `done` resolves. */
export function listen(options: ListenOptions): Listener {
  const loop = new SessionLoop(options);
  return {
    done: loop.run(),
    now: () => loop.transport.now(),
    listenedMs: () => loop.transport.listenedMs(),
    connected: () => loop.connected,
  };
}

/** What one attempt came to while it lasted. */
interface Attempt {
  readonly url: BrokerUrl;
  readyAtMs: number | undefined;
  delivered: boolean;
}

type AttemptEnd = NotOpened | SessionEnd;
type EndOfAll = Awaited<Listener['done']>;

class SessionLoop {
  connected = false;
  readonly #options: ListenOptions;
  readonly #failover: Failover<BrokerUrl>;
  readonly #transports = new Map<BrokerUrl['scheme'], Transport>();
  readonly #listening = new ListeningClock();
  /** Addresses at whose last attempt nobody answered. */
  readonly #dead = new Set<BrokerUrl>();
  #attemptsSinceReady = 0;

  constructor(options: ListenOptions) {
    this.#options = options;
    this.#failover = new Failover(options.urls, options.failoverStrategy, options.random);
  }

  async run(): Promise<EndOfAll> {
    const { signal } = this.#options;
    while (!signal.aborted) {
      const attempt: Attempt = { url: this.#failover.url, readyAtMs: undefined, delivered: false };
      const end = await this.#runSession(attempt);
      this.connected = false;
      const over = this.#consequence(attempt.url, end);
      const waitMs =
        over === undefined && !signal.aborted ? this.#failover.next(outcome(attempt)) : undefined;
      this.#tellEnd(attempt.url, end, waitMs);
      if (over !== undefined) return over;
      if (waitMs !== undefined) await Promise.all([this.#wait(waitMs), this.#between()]);
    }
    return 'stopped';
  }

  /** The one in use. */
  get transport(): Transport {
    return this.#transport(this.#failover.url);
  }

  #transport({ scheme }: BrokerUrl): Transport {
    const known = this.#transports.get(scheme);
    if (known !== undefined) return known;
    const transport = (this.#options.transports ?? TRANSPORTS)[scheme](this.#options, this.#listening);
    this.#transports.set(scheme, transport);
    return transport;
  }

  async #runSession(attempt: Attempt): Promise<AttemptEnd> {
    const { connectTimeoutMs, bodyBytesMax, signal } = this.#options;
    const { url } = attempt;
    this.#attemptsSinceReady += 1;
    try {
      const opening = await this.#transport(url).open({
        ...{ url, connectTimeoutMs, bodyBytesMax, signal },
        exchangeMade: (exchange) => this.#exchangeMade(attempt, exchange),
      });
      if (opening.kind !== 'opened') return opening;
      this.#becameReady(attempt, opening.session.exchange);
      return await opening.session.receive((message, listenedMs) =>
        this.#deliver(attempt, message, listenedMs),
      );
    } catch (error) {
      return { kind: 'refused', reason: this.#defect('transport', error) };
    }
  }

  #becameReady(attempt: Attempt, exchange: string | undefined): void {
    attempt.readyAtMs = performance.now();
    this.connected = true;
    this.#options.tell({
      kind: 'broker-connected',
      service: this.#options.service,
      broker: attempt.url.label,
      ...(exchange === undefined ? {} : { exchange }),
      attempts: this.#attemptsSinceReady,
    });
    this.#attemptsSinceReady = 0;
    this.#options.ready?.();
  }

  #exchangeMade({ url }: Attempt, exchange: string): void {
    const { service, tell } = this.#options;
    tell({ kind: 'exchange-made', service, broker: url.label, exchange });
  }

  /** The one guard around everything that is done with a message: a mistake of ours must not cost the connection. */
  #deliver(attempt: Attempt, message: RawMessage, listenedMs: number): void {
    attempt.delivered = true;
    try {
      this.#options.deliver(message, listenedMs);
    } catch (error) {
      this.#defect('deliver', error);
    }
  }

  /** What an end means for the next attempt; undefined: there is one. */
  #consequence(url: BrokerUrl, end: AttemptEnd): EndOfAll | undefined {
    switch (end.kind) {
      case 'stopped':
      case 'finished':
      case 'unusable':
        return end.kind;
      case 'unreachable':
        this.#dead.add(url);
        return undefined;
      case 'refused':
      case 'lost':
        this.#dead.delete(url);
        return undefined;
    }
  }

  async #wait(waitMs: number): Promise<void> {
    if (waitMs <= 0) return;
    const { random, signal } = this.#options;
    const reachable = async (url: BrokerUrl, over: AbortSignal): Promise<boolean> => {
      try {
        return await this.#transport(url).reachable(url, over);
      } catch (error) {
        this.#defect('transport', error);
        return false;
      }
    };
    const revived = await awaitRetry({ waitMs, dead: [...this.#dead], reachable, random, signal });
    if (revived !== undefined) this.#failover.revived(revived);
  }

  async #between(): Promise<void> {
    try {
      await this.#options.between?.();
    } catch (error) {
      this.#defect('between', error);
    }
  }

  #tellEnd(url: BrokerUrl, end: AttemptEnd, retryInMs: number | undefined): void {
    const reason = 'reason' in end ? end.reason : END_REASONS[end.kind];
    const { service, tell } = this.#options;
    tell({ kind: 'broker-session-ended', service, broker: url.label, end: end.kind, reason, retryInMs });
  }

  #defect(where: DefectPlace, error: unknown): string {
    const reason = error instanceof Error ? error.message : String(error);
    this.#options.tell({ kind: 'defect', service: this.#options.service, where, reason });
    return reason;
  }
}

const END_REASONS = { stopped: 'stopped', finished: 'there are no more messages' } as const;

function outcome({ readyAtMs, delivered }: Attempt): AttemptOutcome {
  if (readyAtMs === undefined) return 'failed';
  return delivered || performance.now() - readyAtMs >= HEALTHY_AFTER_MS ? 'healthy' : 'brief';
}
