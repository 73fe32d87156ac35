/**
 * The transport for RabbitMQ and other AMQP 0-9-1 brokers: one connection, and our own queue bound to Celery’s event
 * exchange. It runs one session and reports why it ended; it never decides whether another follows.
 */
import type { Channel, ChannelModel } from 'amqplib';
import { reasonOf } from '../../text/errors.ts';
import type {
  Deliver,
  Elsewhere,
  Opening,
  RawMessage,
  Session,
  SessionEnd,
  SessionOptions,
  Transport,
} from '../broker.ts';
import type { BrokerReading, PollQuestion } from '../broker-reading.ts';
import type { ControlAnswer, ControlQuestion } from '../control/control.ts';
import { isListening } from '../server/probe.ts';
import { AS_REDIS, isRedisAt } from '../server/redis-probe.ts';
import { tlsOptions } from '../server/tls-files.ts';
import type { ListeningClock } from '../session/listening-clock.ts';
import type { ReadingObserver } from '../session/paced-reading.ts';
import { SessionCourse } from '../session/session-course.ts';
import { closeConnection, connectTo, openConnection } from './connection.ts';
import { AmqpControl } from './control.ts';
import { CONSUMER_TAG, type DeliveryOptions } from './deliveries.ts';
import { causeOf, openingFailure } from './failure.ts';
import { countInstances, InstanceMark } from './instances.ts';
import { AMQP } from './kind.ts';
import { QueueListing } from './management.ts';
import { QueuePoll } from './queue-poll.ts';
import { type AmqpTransportSettings, bindOwnQueue, ensureExchange } from './topology.ts';
import type { AmqpUrl } from './url.ts';

export function createAmqpTransport(settings: AmqpTransportSettings, listening: ListeningClock): Transport {
  const { managementUrl } = settings;
  const shared = {
    known: new Set<string>(),
    listing: managementUrl && new QueueListing(managementUrl),
  };
  return {
    open: async (options) =>
      AMQP.owns(options.url)
        ? new AmqpSession(settings, options, options.url, listening, shared).open()
        : { kind: 'unusable', reason: 'not an AMQP address' },
    now: () => listening.wallMs(performance.now(), Date.now()),
    listenedMs: () => listening.listenedMs,
    reachable: async (url, signal) =>
      AMQP.owns(url) && isListening({ host: url.host, port: url.port }, signal),
  };
}

/** Celery’s default for `event_exchange`. */
const CELERYS_EXCHANGE = 'celeryev';

/** For connections other than the one for events: their data does not prove that events can arrive. */
const NOT_OBSERVED: ReadingObserver = { onRead: () => undefined, takesMore: () => true };

/** What the sessions of a transport have in common. */
interface Shared {
  /** Labels of addresses from which an AMQP server has replied. */
  readonly known: Set<string>;
  readonly listing: QueueListing | undefined;
}

/** One session, from connecting to closing. */
class AmqpSession implements Session {
  exchange: string | undefined;
  readonly #settings: AmqpTransportSettings;
  readonly #options: SessionOptions;
  readonly #url: AmqpUrl;
  readonly #listening: ListeningClock;
  /** Aborting it destroys the socket; always aborted at the end. */
  readonly #socket = new AbortController();
  readonly #course: SessionCourse;
  readonly #known: Set<string>;
  #model: ChannelModel | undefined;
  #mark: InstanceMark | undefined;
  readonly #poll: QueuePoll;
  readonly #control: AmqpControl;
  #awaitsProof = false;
  #hasRead = true;
  /** If true, only messages prove that events of workers can arrive; otherwise, any data does. */
  #mayPublish = true;
  /** When the current chunk of data was read: epoch ms, and monotonic ms. The same for all messages in the chunk. */
  #readAtMs = 0;
  #readUpMs = 0;
  #deliver: Deliver | undefined;
  /** The first message may arrive together with the reply to the subscription. It is kept, and reading pauses. */
  #early: RawMessage | undefined;

  constructor(
    settings: AmqpTransportSettings,
    options: SessionOptions,
    url: AmqpUrl,
    listening: ListeningClock,
    { known, listing }: Shared,
  ) {
    this.#settings = settings;
    this.#options = options;
    this.#url = url;
    this.#listening = listening;
    this.#known = known;
    this.#poll = new QueuePoll(
      (signal) => connectTo(url, settings, signal),
      settings.eventQueuePrefix,
      listing && ((signal) => listing.read(url, signal)),
    );
    this.#control = new AmqpControl((onDelivery, signal) => {
      const limits = { ...settings, bodyBytesMax: options.bodyBytesMax };
      return openConnection(url, limits, signal, NOT_OBSERVED, onDelivery);
    }, options.isObserver === true);
    this.#course = new SessionCourse(options, listening, {
      connect: () => this.#connect(),
      failureOf: (error) => openingFailure(causeOf(error), url),
      whoIsThere: () => this.#whoIsThere(),
      close: () => this.#close(),
    });
  }

  open(): Promise<Opening> {
    return this.#course.start();
  }

  receive(deliver: Deliver): Promise<SessionEnd> {
    this.#deliver = deliver;
    if (this.#early !== undefined) this.#handOver(this.#early);
    this.#early = undefined;
    return this.#course.ended;
  }

  poll(question: PollQuestion, signal: AbortSignal): Promise<BrokerReading> {
    return this.#poll.read(question, signal);
  }

  ask(question: ControlQuestion, signal: AbortSignal): Promise<ControlAnswer> {
    return this.#control.ask(question, signal);
  }

  async instances(): Promise<number | undefined> {
    const { exports } = this.#options;
    if (this.#mark !== undefined) return this.#mark.take();
    if (this.#model === undefined || exports === undefined) return undefined;
    return countInstances(this.#model, this.#settings.eventQueuePrefix, exports).catch(() => undefined);
  }

  async elsewhere(signal: AbortSignal): Promise<Elsewhere> {
    const found = { places: [], exchanges: [CELERYS_EXCHANGE] };
    const nothing = { places: [], exchanges: [] };
    if (this.#model === undefined || this.#settings.eventExchange === CELERYS_EXCHANGE) return nothing;
    const { promise: late, resolve } = Promise.withResolvers<Elsewhere>();
    signal.addEventListener('abort', () => resolve(nothing), { once: true });
    const looked = ensureExchange(this.#model, CELERYS_EXCHANGE, true).then(
      (ensured) => (ensured === 'found' ? found : nothing),
      () => nothing,
    );
    return await Promise.race([looked, late]);
  }

  /** Connects, then subscribes; each within the connect timeout. */
  async #connect(): Promise<void> {
    const { eventExchange } = this.#settings;
    const limits = { ...this.#settings, bodyBytesMax: this.#options.bodyBytesMax };
    const observer = {
      onRead: (upMs: number) => this.#noteRead(upMs),
      takesMore: () => this.#early === undefined,
    };
    const broken = (error: unknown): void => this.#course.broken(causeOf(error));
    const model = await openConnection(this.#url, limits, this.#socket.signal, observer, this.#receive);
    this.#model = model;
    this.#known.add(this.#url.label);
    model.on('error', broken);
    model.on('close', (error) => broken(error ?? new Error('the connection was closed')));
    if (this.#course.isOver) return;
    this.#course.allowMoreTime();
    const { isObserver, onExchangeDeclared } = this.#options;
    const ensured = await ensureExchange(model, eventExchange, isObserver === true);
    if (ensured === 'declared') onExchangeDeclared(eventExchange);
    this.exchange = ensured === 'missing' ? undefined : eventExchange;
    const channel = await model.createChannel();
    // Deferred: a call that fails for the same cause reports a better message first.
    channel.on('error', (error) => setImmediate(() => broken(error)));
    const queue = await bindOwnQueue(channel, this.#settings, this.exchange);
    const ask = await this.#prepareProof(model, channel, queue);
    // noAck, as in Celery’s own receiver: an event that we fail to count is not worth a redelivery.
    await channel.consume(queue, this.#cancelled, { noAck: true, consumerTag: CONSUMER_TAG });
    // amqplib itself waits for up to three heartbeats.
    const heartbeatS = this.#url.heartbeatS ?? this.#settings.heartbeatS;
    this.#course.opened(this, ask, 2 * 1000 * heartbeatS);
    const { exports } = this.#options;
    if (exports === undefined || isObserver === true) return;
    this.#mark = new InstanceMark(model, this.#settings.eventQueuePrefix, exports);
    await this.#mark.take();
  }

  async #whoIsThere(): Promise<string> {
    // An AMQP server that hangs must not get the data of another protocol, which it would log.
    if (this.#known.has(this.#url.label)) return '';
    try {
      const { tls } = this.#url;
      return (await isRedisAt(this.#url, tls && (await tlsOptions(tls)))) ? AS_REDIS : '';
    } catch {
      // A TLS file was removed in the meantime.
      return '';
    }
  }

  /** Data has arrived, and with it everything that the broker sent earlier. */
  #noteRead(upMs: number): void {
    this.#hasRead = true;
    this.#readUpMs = upMs;
    this.#readAtMs = Date.now();
    if (!this.#mayPublish) this.#noteProof();
  }

  #noteProof(): void {
    this.#awaitsProof = false;
    if (this.#course.isOpen) this.#listening.proven(this.#readUpMs, this.#readAtMs);
  }

  /**
   * Returns a function that requests a proof of life if needed: a dead connection and a quiet cluster look alike. In an
   * alarm the broker replies to calls but blocks publishers, so we send a message to our own queue. The default
   * exchange routes it nowhere else.
   */
  async #prepareProof(model: ChannelModel, channel: Channel, queue: string): Promise<() => boolean> {
    const echo = await model.createChannel();
    echo.on('error', (error) => {
      this.#mayPublish = false;
      this.#noteProof();
      this.#options.onPublishing('publish-refused', reasonOf(error));
    });
    model.on('blocked', (reason: string) => this.#options.onPublishing('publish-blocked', reason));
    model.on('unblocked', () => this.#options.onPublishing('publish-unblocked', ''));
    return () => {
      const isHeard = this.#hasRead || this.#early !== undefined;
      this.#hasRead = false;
      if (this.#awaitsProof || !this.#listening.needsProof(performance.now())) return isHeard;
      this.#awaitsProof = true;
      if (this.#mayPublish) echo.publish('', queue, Buffer.alloc(0));
      // Any call with a reply would do: without acknowledgements, prefetch has no effect. The channel reports its own errors.
      else channel.prefetch(0).catch(() => undefined);
      return isHeard;
    };
  }

  readonly #receive: DeliveryOptions['onDelivery'] = (route, properties, body) => {
    this.#noteProof();
    const { exchange, routingKey } = route;
    // Our own message: events come through another exchange.
    if (exchange === '') return;
    const { contentType, contentEncoding, headers } = properties;
    const arrivedAtMs = this.#readAtMs;
    const message = { arrivedAtMs, exchange, routingKey, contentType, contentEncoding, headers, body };
    if (this.#deliver === undefined) this.#early = message;
    else this.#handOver(message);
  };

  /** amqplib only reports a cancellation here: messages bypass it. */
  readonly #cancelled = (): void => {
    this.#course.broken(new Error('the broker cancelled our subscription: the queue was deleted'));
  };

  #handOver(message: RawMessage): void {
    const { listenedMs, steadyMs } = this.#listening;
    if (this.#course.isOpen) this.#deliver?.(message, listenedMs, steadyMs);
  }

  async #close(): Promise<void> {
    this.#early = undefined;
    const others = Promise.all([this.#poll.end(), this.#control.end()]);
    if (this.#model !== undefined) await closeConnection(this.#model);
    this.#socket.abort();
    await others;
  }
}
