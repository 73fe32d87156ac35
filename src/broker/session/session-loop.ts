/**
 * Runs one session after another for a service, over any transport: it opens a session, receives messages, reports why the
 * session ended, and waits. No failure of a broker ends the loop. It handles neither sockets nor message content.
 */
import { performance } from 'node:perf_hooks';
import type { DefectPlace, EventSink } from '../../self/self-event.ts';
import { reasonOf } from '../../text/errors.ts';
import { createPeerText, type PeerText } from '../../text/peer-text.ts';
import type {
  BrokerSettings,
  Deliver,
  NotOpened,
  RawMessage,
  Session,
  SessionEnd,
  Transport,
} from '../broker.ts';
import type { BrokerUrl } from '../broker-url.ts';
import { type KindName, kindOf } from '../kinds.ts';
import { explained } from '../likely-cause.ts';
import { TRANSPORTS, type Transports } from '../transports.ts';
import { awaitRetry } from './await-retry.ts';
import { withPasswordFile } from './current-password.ts';
import { explainedSession } from './explained-session.ts';
import { type AttemptOutcome, Failover } from './failover.ts';
import { ListeningClock } from './listening-clock.ts';

/** A session that lasted this long was healthy, even without a message. */
const HEALTHY_AFTER_MS = 60_000;

export interface ListenOptions extends BrokerSettings {
  /** The service name in self events. */
  readonly service: string;
  /** A message body with more bytes is dropped as it arrives. */
  readonly bodyBytesMax: number;
  readonly deliver: Deliver;
  readonly report: EventSink;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
  /** Stops listening. */
  readonly signal: AbortSignal;
  /** Whether nothing permanent is declared at the broker; by default, a missing event exchange is declared. */
  readonly isObserver?: boolean;
  /** Whether the metrics of the service are exported. */
  readonly isExported?: boolean;
  /** Called each time a session has opened. */
  readonly ready?: () => void;
  /** Called if messages were dropped during a session. */
  readonly missed?: () => void;
  /** Called and awaited between two sessions, while no message can arrive. */
  readonly between?: () => Promise<void>;
  /** Called with each opened session; the function it returns is called when the session has ended. */
  readonly during?: (session: Session) => () => void;
  /** Replaced in tests; by default all transports. */
  readonly transports?: Transports | undefined;
}

export type Listener = ReturnType<typeof listen>;

/** Starts listening: delivers messages and reports self events until `done` resolves. */
export function listen(options: ListenOptions) {
  const loop = new SessionLoop(options);
  return {
    /** Why listening ended permanently; the reason of `unusable` has been reported. Never rejects. */
    done: loop.run(),
    /** `Transport.now` of the transport in use. */
    now: () => loop.transport.now(),
    /** `Transport.listenedMs` of the transport in use. */
    listenedMs: () => loop.transport.listenedMs(),
    /** Whether messages can arrive now. */
    connected: () => loop.connected,
    /** Ends the session, or the attempt to open one; another follows. */
    reconnect: (reason: string) => loop.reconnect(reason),
  };
}

/** What has happened during one attempt. */
interface Attempt {
  readonly url: BrokerUrl;
  readyAtMs: number | undefined;
  delivered: boolean;
}

type AttemptEnd = NotOpened | SessionEnd;
type LoopEnd = 'stopped' | 'finished' | 'unusable';

class SessionLoop {
  connected = false;
  readonly #options: ListenOptions;
  readonly #failover: Failover<BrokerUrl>;
  readonly #transports = new Map<KindName, Transport>();
  readonly #listening = new ListeningClock();
  /** Addresses whose last attempt found no broker. */
  readonly #unreachable = new Set<BrokerUrl>();
  /** Addresses at which a session has been open. */
  readonly #worked = new Set<BrokerUrl>();
  /** The latest secrets sent to brokers. */
  #secrets: readonly string[] = [];
  #hide: PeerText = createPeerText([]);
  #attemptsSinceReady = 0;
  /** Ends the current attempt. */
  #cut = new AbortController();

  constructor(options: ListenOptions) {
    this.#options = options;
    const { urls, passwordFile } = options;
    const current = passwordFile === undefined ? urls : withPasswordFile(urls, passwordFile);
    this.#failover = new Failover(current, options.failoverStrategy, options.random);
  }

  reconnect(reason: string): void {
    this.#cut.abort(reason);
  }

  async run(): Promise<LoopEnd> {
    const { signal } = this.#options;
    while (!signal.aborted) {
      const attempt: Attempt = { url: this.#failover.url, readyAtMs: undefined, delivered: false };
      const end = await this.#runUncut(attempt);
      this.connected = false;
      const loopEnd = this.#loopEnd(attempt.url, end);
      const waitMs =
        loopEnd === undefined && !signal.aborted ? this.#failover.next(outcome(attempt, end)) : undefined;
      this.#reportEnd(attempt.url, end, waitMs);
      if (loopEnd !== undefined) return loopEnd;
      if (waitMs !== undefined) await Promise.all([this.#wait(waitMs), this.#between()]);
    }
    return 'stopped';
  }

  /** The transport in use. */
  get transport(): Transport {
    return this.#transport(this.#failover.url);
  }

  #transport(url: BrokerUrl): Transport {
    const { name } = kindOf(url);
    const known = this.#transports.get(name);
    if (known !== undefined) return known;
    const transport = (this.#options.transports ?? TRANSPORTS)[name](this.#options, this.#listening);
    this.#transports.set(name, transport);
    return transport;
  }

  /** Runs a session until it ends, or until `reconnect` cuts it, which does not end the loop. */
  async #runUncut(attempt: Attempt): Promise<AttemptEnd> {
    const { signal } = this.#options;
    const cut = new AbortController();
    const stop = (): void => cut.abort();
    this.#cut = cut;
    signal.addEventListener('abort', stop);
    const end = await this.#runSession(attempt, cut.signal);
    signal.removeEventListener('abort', stop);
    const isCut = end.kind === 'stopped' && cut.signal.aborted && !signal.aborted;
    return isCut ? { kind: 'lost', reason: String(cut.signal.reason) } : end;
  }

  async #runSession(attempt: Attempt, signal: AbortSignal): Promise<AttemptEnd> {
    const { connectTimeoutMs, bodyBytesMax, isObserver = false, isExported, service, report } = this.#options;
    const { url } = attempt;
    this.#attemptsSinceReady += 1;
    try {
      const opening = await this.#transport(url).open({
        url,
        connectTimeoutMs,
        bodyBytesMax,
        isObserver,
        signal,
        exports: isExported === true ? service : undefined,
        onExchangeDeclared: (exchange) =>
          report({ kind: 'exchange-made', service, broker: url.label, exchange }),
        onPublishing: (kind, reason) =>
          report({ kind, service, broker: url.label, reason: this.#peerText(url)(reason) }),
        onShed: (count) => {
          report({ kind: 'input-dropped', service, ...SHED, count, detail: `${count} messages` });
          this.#options.missed?.();
        },
      });
      if (opening.kind !== 'opened') return opening;
      this.#becameReady(attempt, opening.session.exchange);
      return await this.#receive(attempt, opening.session);
    } catch (error) {
      return { kind: 'refused', reason: this.#defect('transport', error) };
    }
  }

  async #receive(attempt: Attempt, session: Session): Promise<SessionEnd> {
    const ended = this.#options.during?.(
      explainedSession(session, attempt.url, (text) => this.#peerText(attempt.url)(text)),
    );
    try {
      return await session.receive((message, listenedMs, steadyMs) =>
        this.#deliver(attempt, message, listenedMs, steadyMs),
      );
    } finally {
      ended?.();
    }
  }

  #becameReady(attempt: Attempt, exchange: string | undefined): void {
    attempt.readyAtMs = performance.now();
    this.#worked.add(attempt.url);
    this.connected = true;
    this.#options.report({
      kind: 'broker-connected',
      service: this.#options.service,
      broker: attempt.url.label,
      ...(exchange === undefined ? {} : { exchange }),
      attempts: this.#attemptsSinceReady,
    });
    this.#attemptsSinceReady = 0;
    this.#options.ready?.();
  }

  /** The only guard around message processing: a bug of ours must not end the connection. */
  #deliver(attempt: Attempt, message: RawMessage, listenedMs: number, steadyMs: number): void {
    attempt.delivered = true;
    try {
      this.#options.deliver(message, listenedMs, steadyMs);
    } catch (error) {
      this.#defect('deliver', error);
    }
  }

  /** How the loop ends after this attempt; undefined if it continues. */
  #loopEnd(url: BrokerUrl, end: AttemptEnd): LoopEnd | undefined {
    switch (end.kind) {
      case 'stopped':
      case 'finished':
      case 'unusable':
        return end.kind;
      case 'unreachable':
        this.#unreachable.add(url);
        return undefined;
      case 'refused':
      case 'malformed':
      case 'lost':
        this.#unreachable.delete(url);
        return undefined;
    }
  }

  async #wait(waitMs: number): Promise<void> {
    if (waitMs <= 0) return;
    const { random, signal } = this.#options;
    const reachable = async (url: BrokerUrl, over: AbortSignal): Promise<boolean> => {
      try {
        return (await this.#transport(url).reachable?.(url, over)) === true;
      } catch (error) {
        this.#defect('transport', error);
        return false;
      }
    };
    const unreachable = [...this.#unreachable];
    const recovered = await awaitRetry({ waitMs, unreachable, reachable, random, signal });
    if (recovered !== undefined) this.#failover.recovered(recovered);
  }

  async #between(): Promise<void> {
    try {
      await this.#options.between?.();
    } catch (error) {
      this.#defect('between', error);
    }
  }

  #reportEnd(url: BrokerUrl, end: AttemptEnd, retryInMs: number | undefined): void {
    const reason =
      'reason' in end
        ? explained(end.reason, url, this.#worked.has(url), this.#peerText(url))
        : END_REASONS[end.kind];
    const { service, report } = this.#options;
    const isTls = end.kind === 'unreachable' && end.isTls === true;
    const ended = { service, broker: url.label, end: end.kind, reason, retryInMs, ...(isTls && { isTls }) };
    const isElsewhere = this.#failover.url !== url;
    report({ kind: 'broker-session-ended', ...ended, ...(isElsewhere && { isElsewhere }) });
  }

  /** Removes secrets from texts of the broker, also earlier passwords: one in a file may have changed, and messages may repeat it. */
  #peerText(url: BrokerUrl): PeerText {
    const added = secretsFor(url, this.#options).filter((secret) => !this.#secrets.includes(secret));
    if (added.length > 0) {
      this.#secrets = [...this.#secrets, ...added].slice(-SECRETS_MAX);
      this.#hide = createPeerText(this.#secrets);
    }
    return this.#hide;
  }

  #defect(where: DefectPlace, error: unknown): string {
    const reason = this.#peerText(this.#failover.url)(reasonOf(error));
    this.#options.report({ kind: 'defect', service: this.#options.service, where, reason });
    return reason;
  }
}

/** How many secrets are remembered: more than are ever used for one broker. */
const SECRETS_MAX = 100;

/** The secrets sent to a broker, which must not be shown. */
function secretsFor(url: BrokerUrl, settings: BrokerSettings): readonly string[] {
  return kindOf(url)
    .secrets(url, settings)
    .filter((secret) => secret !== '');
}

const SHED = { reason: 'arrived-too-fast', intentional: false } as const;

const END_REASONS = { stopped: 'stopped', finished: 'no more messages' } as const;

function outcome({ readyAtMs, delivered }: Attempt, end: AttemptEnd): AttemptOutcome {
  if (readyAtMs === undefined) return 'failed';
  // A violation counts even if messages were delivered: the server may violate its protocol each time.
  if (end.kind === 'malformed' && performance.now() - readyAtMs < HEALTHY_AFTER_MS) return 'brief';
  return delivered || performance.now() - readyAtMs >= HEALTHY_AFTER_MS ? 'healthy' : 'brief';
}
