/**
 * The contract between a transport and the rest: what a message is, how a session runs and why it ends. Types only; it
 * knows nothing of Celery's event bodies.
 */

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
 * @param steadyMs when it arrived, epoch ms, by a clock that is never set while connected
 */
export type Deliver = (message: RawMessage, listenedMs: number, steadyMs: number) => void;

/** Why no session was opened. The session loop alone decides what happens next. */
export type NotOpened =
  /** We were asked to stop. */
  | { readonly kind: 'stopped' }
  /** No connection: there was no answer, TLS failed (`isTls`), or the broker was shutting down. */
  | { readonly kind: 'unreachable'; readonly reason: string; readonly isTls?: boolean }
  /** The broker refused it (credentials, virtual host, permissions), or our own TLS files are unreadable. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** The server sent what its protocol does not allow. */
  | { readonly kind: 'malformed'; readonly reason: string }
  /** The source is broken, and a retry would not help (a malformed recording). */
  | { readonly kind: 'unusable'; readonly reason: string };

/** Why an open session ended. */
export type SessionEnd =
  | Extract<NotOpened, { kind: 'stopped' | 'malformed' | 'unusable' }>
  /** There will be no more messages (the end of a recording). */
  | { readonly kind: 'finished' }
  /** The connection broke. */
  | { readonly kind: 'lost'; readonly reason: string };

/** A live session. */
export interface Session {
  /** The exchange that its events come from; a recording has none, and an observer may find none. */
  readonly exchange?: string | undefined;
  /** Delivers events until the session ends, first those that have already arrived. Call it once; never rejects. */
  receive(deliver: Deliver): Promise<SessionEnd>;
  /**
   * Asks the broker for its queues; a recording has none. One poll at a time, while the session is open. Rejects if the broker
   * cannot be asked or the signal aborts, which does not end the session.
   */
  poll?(question: PollQuestion, signal: AbortSignal): Promise<BrokerReading>;
  /**
   * Asks workers by remote control; a recording has none. One question at a time, while the session is open. Rejects if it
   * cannot be asked or the signal aborts, which does not end the session.
   */
  ask?(question: ControlQuestion, signal: AbortSignal): Promise<ControlAnswer>;
  /**
   * How many clients listen to patterns of channels, workers among them; undefined if that is not known. Only a broker on which a
   * worker can go deaf has it: one that fails to reply stops listening, and consumes no task again. Never rejects.
   */
  listeners?(signal: AbortSignal): Promise<number | undefined>;
  /**
   * How many other instances of celery-otel export the same service, without observers; undefined if that is not known. A
   * recording has none. Never rejects.
   */
  instances?(signal: AbortSignal): Promise<number | undefined>;
  /**
   * Where else there are signs of workers, for when none is heard: as far as the broker tells, until the signal aborts. A recording
   * has none. Never rejects.
   */
  elsewhere?(signal: AbortSignal): Promise<Elsewhere>;
}

/** Where workers may be that are not heard. */
export interface Elsewhere {
  readonly places: readonly OtherPlace[];
  /** Exchanges that events may come by, beside the configured one. */
  readonly exchanges: readonly string[];
}

/** Of Redis; what is undefined is as configured. */
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
  /** Has the password of all addresses, and is read at each connection. */
  readonly passwordFile?: string;
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
  /** Limit of our queue at the broker. */
  readonly eventQueueBytesMax: number;
  /** Proposed to the broker, which may lower it; 0 disables heartbeats. */
  readonly heartbeatS: number;
  /** Of addresses without `login_method`; by default PLAIN. */
  readonly loginMethod?: LoginMethod;
}

/** Settings of Redis only, called as the transport options of kombu (transport/redis.py). */
export interface RedisSettings {
  /** The name by which sentinels know the master; '' without sentinels. */
  readonly masterName: string;
  /** For the sentinels themselves, as `sentinel_kwargs`. */
  readonly sentinel: {
    readonly username: string | undefined;
    readonly password: string | undefined;
    readonly tls: BrokerTls | undefined;
  };
  /** Before the name of each key and channel. */
  readonly globalKeyprefix: string;
  /** Before the name of each channel; `{db}` stands for the number of the database. */
  readonly fanoutPrefix: string;
  /** Whether the name of a channel ends with the routing key. */
  readonly fanoutPatterns: boolean;
  /** Shown in the server’s list of clients. */
  readonly clientName: string;
  readonly socketKeepalive: boolean;
  /** A connection is dead if nothing has arrived for both together, although the server was asked. */
  readonly healthCheckIntervalMs: number;
  readonly socketTimeoutMs: number;
}

/** What one session needs. */
export interface SessionOptions {
  readonly url: BrokerUrl;
  readonly connectTimeoutMs: number;
  /** A larger body is dropped as it arrives. */
  readonly bodyBytesMax: number;
  /** Whether nothing is declared that stays: if the event exchange is missing, there are no events. */
  readonly isObserver?: boolean;
  /** The service that is exported, by whose name instances find each other; undefined if none is. */
  readonly exports?: string | undefined;
  /** Called if the event exchange was missing and we declared it. */
  readonly onExchangeDeclared: (exchange: string) => void;
  /** Called if the broker takes nobody’s messages, in an alarm, or not ours, without permission. */
  readonly onPublishFailed: (kind: 'publish-blocked' | 'publish-refused', reason: string) => void;
  /** Called if messages were dropped unread, since they arrived faster than they can be read. */
  readonly onShed: (messages: number) => void;
  /** Ends the session, or the attempt to open it. */
  readonly signal: AbortSignal;
}

/** A source of messages; each listener creates its own, from a row of `transports.ts`. */
export interface Transport {
  /** Connects and subscribes: events are kept for the session from then on. Never rejects. */
  open(options: SessionOptions): Promise<Opening>;
  /**
   * The time of the messages being delivered, epoch ms: the wall clock, stopped while disconnected, or the clock of a
   * replay (0 until its first message is known).
   */
  now(): number;
  /** Listened time: for how long messages could arrive, ms. Monotonic; in a replay it always advances. */
  listenedMs(): number;
  /**
   * Resolves within about a second; true if the port accepts connections. Cheap, and the broker logs nothing. A replay, which
   * is never unreachable, has none.
   */
  reachable?(url: BrokerUrl, signal: AbortSignal): Promise<boolean>;
}
