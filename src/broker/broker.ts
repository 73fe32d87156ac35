/**
 * The contract between a transport and everything right of it: what a message is, how a session is run and why it
 * ended. Types only; it knows sockets by name, and nothing of Celery's event bodies.
 */
import type { BrokerUrl, BrokerUrls } from './broker-url.ts';

/** One message as the broker delivered it, before anybody looked into its body. */
export interface RawMessage {
  /** When it reached us, ms since the epoch, by the clock of the transport that delivered it. */
  readonly arrivedAtMs: number;
  readonly exchange: string;
  readonly routingKey: string;
  /** `content_type` property, e.g. `application/json`; '' where the message has none. */
  readonly contentType: string;
  /** `content_encoding` property, e.g. `utf-8`; '' where the message has none. */
  readonly contentEncoding: string;
  /**
   * Message headers as decoded from the wire: never trusted, never copied onto an object. undefined where they cannot be
   * decoded; then the content type and encoding are not known either.
   */
  readonly headers: Readonly<Record<string, unknown>> | undefined;
  /** undefined where it is larger than any that is read: then it was dropped as it came, and the properties with it. */
  readonly body: Buffer | undefined;
}

/**
 * Receives each message, on the stack of the socket that read it. Must not throw.
 * @param listenedMs for how long messages could be heard until then, as `Transport.listenedMs`
 */
export type Deliver = (message: RawMessage, listenedMs: number) => void;

/** Why there was no session. The session loop alone decides what happens next. */
export type NotOpened =
  /** We were asked to stop. */
  | { readonly kind: 'stopped' }
  /** No connection came about: nobody answered, TLS failed, or the broker was just going down. */
  | { readonly kind: 'unreachable'; readonly reason: string }
  /** The broker answered and said no (credentials, virtual host, permissions), or our own TLS files are unreadable. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** The source is broken in a way that no waiting mends (a malformed recording). */
  | { readonly kind: 'unusable'; readonly reason: string };

/** Why a session that was open ended. */
export type SessionEnd =
  | Extract<NotOpened, { kind: 'stopped' | 'unusable' }>
  /** The source has no more messages and never will (a recording that is over). */
  | { readonly kind: 'finished' }
  /** It broke. */
  | { readonly kind: 'lost'; readonly reason: string };

/** A live session. What a broker can be asked beside its events are members of their own, where a transport has them. */
export interface Session {
  /** The exchange that its events come from; a recording has none. */
  readonly exchange?: string;
  /** Delivers its events from now on, those that have come already first, until it ends. To be called once; never rejects. */
  receive(deliver: Deliver): Promise<SessionEnd>;
}

export type Opening = { readonly kind: 'opened'; readonly session: Session } | NotOpened;

/** The order in which the addresses of an `a;b` list are tried; kombu's names. */
export type FailoverStrategy = 'round-robin' | 'shuffle';

/** How a service’s events are listened to. */
export interface BrokerSettings {
  /** At least one; tried in turn. */
  readonly urls: BrokerUrls;
  readonly failoverStrategy: FailoverStrategy;
  readonly connectTimeoutMs: number;
  /** For the addresses of AMQP brokers. */
  readonly amqp: AmqpSettings;
}

/** What only AMQP has. */
export interface AmqpSettings {
  /** Celery's `event_exchange`, default `celeryev`. */
  readonly eventExchange: string;
  /** Celery's `event_queue_prefix`, default `celeryev`. */
  readonly eventQueuePrefix: string;
  /** Of all messages that the broker keeps for us. */
  readonly eventQueueBytesMax: number;
  /** Proposed to the broker, which may lower it; 0 switches heartbeats off. */
  readonly heartbeatS: number;
}

/** What one session needs. */
export interface SessionOptions {
  readonly url: BrokerUrl;
  readonly connectTimeoutMs: number;
  /** A larger body is dropped as it arrives. */
  readonly bodyBytesMax: number;
  /** Called when the event exchange was missing and had to be made. */
  readonly exchangeMade: (exchange: string) => void;
  /** Ends the session, or its opening. */
  readonly signal: AbortSignal;
}

/** One way of getting messages, made anew for each listener; a row of `transports.ts` each. */
export interface Transport {
  /** Connects; events are kept for the session from then on. Never rejects. */
  open(options: SessionOptions): Promise<Opening>;
  /**
   * The time at which the messages being delivered happen: the wall clock, which stands still while nothing can be heard,
   * or a replayed one (0 until its first message is known). Epoch ms.
   */
  now(): number;
  /** For how long messages could be heard, ms; a recording is heard all the time. Monotonic. */
  listenedMs(): number;
  /** Resolves true if something listens at the address, within about a second; cheap, and leaves no trace at the broker. */
  reachable(url: BrokerUrl, signal: AbortSignal): Promise<boolean>;
}
