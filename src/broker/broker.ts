/**
 * The contract between a transport and the rest: what a message is, how a session runs and why it ends. Types only; it
 * knows nothing of Celery's event bodies.
 */

import type { ManagementUrl } from './amqp/management-url.ts';
import type { LoginMethod } from './amqp/url.ts';
import type { BrokerReading, PollQuestion } from './broker-reading.ts';
import type { BrokerUrl, BrokerUrls } from './broker-url.ts';
import type { ControlAnswer, ControlQuestion } from './control/control.ts';
import type { RawMessage } from './raw-message.ts';
import type { BrokerTls } from './server/address.ts';

export type { RawMessage };

/**
 * Receives each message, on the call stack of the socket’s read. Must not throw.
 * @param listenedMs `Transport.listenedMs` at that time
 * @param steadyMs when it arrived, epoch ms, by a clock that is never adjusted while connected
 */
export type Deliver = (message: RawMessage, listenedMs: number, steadyMs: number) => void;

/** Why no session was opened. The session loop alone decides what happens next. */
export type NotOpened =
  /** The caller stopped the attempt. */
  | { readonly kind: 'stopped' }
  /** No connection: no reply, TLS failed (`isTls`), or the broker was shutting down. */
  | { readonly kind: 'unreachable'; readonly reason: string; readonly isTls?: boolean }
  /** The broker refused the connection (credentials, virtual host, permissions), or our own TLS files cannot be read. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** The server violated its protocol. */
  | { readonly kind: 'malformed'; readonly reason: string }
  /** The source is invalid and a retry would not help (a malformed recording). */
  | { readonly kind: 'unusable'; readonly reason: string };

/** Why an open session ended. */
export type SessionEnd =
  | Extract<NotOpened, { kind: 'stopped' | 'malformed' | 'unusable' }>
  /** No more messages will follow (the end of a recording). */
  | { readonly kind: 'finished' }
  /** The connection broke. */
  | { readonly kind: 'lost'; readonly reason: string };

/** A live session. */
export interface Session {
  /** The exchange of the received events; undefined for a recording, and for an observer if the exchange does not exist. */
  readonly exchange?: string | undefined;
  /** Delivers events until the session ends, starting with those that have already arrived. Call it once; never rejects. */
  receive(deliver: Deliver): Promise<SessionEnd>;
  /**
   * Polls the broker for its queues; absent for a recording. One poll at a time, while the session is open. Rejects if
   * the poll fails or the signal aborts, which does not end the session.
   */
  poll?(question: PollQuestion, signal: AbortSignal): Promise<BrokerReading>;
  /**
   * Sends remote control commands to workers; absent for a recording. One command at a time, while the session is open.
   * Rejects if it cannot be sent or the signal aborts, which does not end the session.
   */
  ask?(question: ControlQuestion, signal: AbortSignal): Promise<ControlAnswer>;
  /**
   * How many clients, including workers, are subscribed to channel patterns; undefined if unknown. Present only for
   * brokers on which a worker can go deaf, that is, stop listening and consuming tasks after a failed reply. Never
   * rejects.
   */
  listeners?(signal: AbortSignal): Promise<number | undefined>;
  /**
   * How many other instances of celery-otel export the same service, without observers; undefined if unknown. Absent
   * for a recording. Never rejects.
   */
  instances?(signal: AbortSignal): Promise<number | undefined>;
  /**
   * Where else there are signs of workers, as far as the broker shows them until the signal aborts; used if no events
   * arrive. Absent for a recording. Never rejects.
   */
  elsewhere?(signal: AbortSignal): Promise<Elsewhere>;
}

/** Where workers may be whose events do not arrive. */
export interface Elsewhere {
  readonly places: readonly OtherPlace[];
  /** Exchanges that may carry events, besides the configured one. */
  readonly exchanges: readonly string[];
}

/** A location in Redis where workers may be; an undefined part is as configured. */
export interface OtherPlace {
  readonly database: number | undefined;
  readonly prefix: string | undefined;
}

export type Opening = { readonly kind: 'opened'; readonly session: Session } | NotOpened;

/** The order in which the addresses of an `a;b` list are tried, by kombu's names. */
export type FailoverStrategy = 'round-robin' | 'shuffle';

/** How to receive a service’s events. */
export interface BrokerSettings {
  readonly urls: BrokerUrls;
  /** The path of a file with the password of all addresses, read for each connection. */
  readonly passwordFile?: string | undefined;
  readonly failoverStrategy: FailoverStrategy;
  readonly connectTimeoutMs: number;
  /** Celery's `event_exchange`, default `celeryev`. */
  readonly eventExchange: string;
  readonly amqp: AmqpSettings;
  readonly redis: RedisSettings;
}

/** Settings of AMQP brokers only. */
export interface AmqpSettings {
  /** Celery's `event_queue_prefix`, default `celeryev`. */
  readonly eventQueuePrefix: string;
  /** The most bytes that our queue may hold at the broker. */
  readonly eventQueueBytesMax: number;
  /** The heartbeat interval proposed to the broker, which may lower it, seconds; 0 disables heartbeats. */
  readonly heartbeatS: number;
  /** The SASL mechanism for addresses without `login_method`; by default PLAIN. */
  readonly loginMethod?: LoginMethod;
  /** The management API, which lists the queues; undefined: only queues that are known by name are polled. */
  readonly managementUrl?: ManagementUrl | undefined;
}

/** Settings of Redis only, named after kombu’s transport options (transport/redis.py). */
export interface RedisSettings {
  /** The name of the master at the sentinels; '' without sentinels. */
  readonly masterName: string;
  /** The login and TLS settings of the sentinels themselves, as in `sentinel_kwargs`. */
  readonly sentinel: {
    readonly username: string | undefined;
    readonly password: string | undefined;
    readonly tls: BrokerTls | undefined;
  };
  /** The prefix of each key and channel. */
  readonly globalKeyprefix: string;
  /** The prefix of each channel; `{db}` stands for the database number. */
  readonly fanoutPrefix: string;
  /** Whether the name of a channel ends with the routing key. */
  readonly fanoutPatterns: boolean;
  /** The name of our connections in the server’s list of clients. */
  readonly clientName: string;
  readonly socketKeepalive: boolean;
  /** A connection is dead if nothing has arrived for this time plus `socketTimeoutMs`, despite a request. */
  readonly healthCheckIntervalMs: number;
  readonly socketTimeoutMs: number;
}

/** What one session needs. */
export interface SessionOptions {
  readonly url: BrokerUrl;
  readonly connectTimeoutMs: number;
  /** A message body with more bytes is dropped as it arrives. */
  readonly bodyBytesMax: number;
  /** Whether nothing permanent is declared: if the event exchange is missing, there are no events. */
  readonly isObserver?: boolean;
  /** The name of the exported service, by which instances find each other; undefined if the service is not exported. */
  readonly exports?: string | undefined;
  /** Called if the event exchange was missing and we declared it. */
  readonly onExchangeDeclared: (exchange: string) => void;
  /** Called when the broker blocks publishers because of an alarm, when that ends, or when it refuses our messages for lack of permission. */
  readonly onPublishing: (
    kind: 'publish-blocked' | 'publish-unblocked' | 'publish-refused',
    reason: string,
  ) => void;
  /** Called if messages were dropped unread because they arrived too fast. */
  readonly onShed: (messages: number) => void;
  /** Ends the session, or the attempt to open it. */
  readonly signal: AbortSignal;
}

/** A source of messages; each listener creates its own, from a row of `transports.ts`. */
export interface Transport {
  /** Connects and subscribes; from then on, events are kept for the session. Never rejects. */
  open(options: SessionOptions): Promise<Opening>;
  /**
   * The time of the messages being delivered, epoch ms: the wall clock, stopped while disconnected, or the clock of a
   * replay (0 until its first message is known).
   */
  now(): number;
  /** Listened time, ms: for how long messages could arrive. Monotonic; in a replay it always advances. */
  listenedMs(): number;
  /**
   * Resolves within about a second; true if the port accepts connections. Cheap, and not logged by the broker. Absent
   * for a replay, which is never unreachable.
   */
  reachable?(url: BrokerUrl, signal: AbortSignal): Promise<boolean>;
}
