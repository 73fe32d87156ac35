/**
 * The transport for RabbitMQ and others that speak AMQP 0-9-1: one connection, one queue of our own bound to Celery's
 * event exchange. It runs one session and says why it ended; whether there is another is not decided here.
 */
import type { Channel, ChannelModel, ConsumeMessage } from 'amqplib';
import { closeConnection, isListening, openConnection } from './amqp-connection.ts';
import { openingFailure, reasonOf } from './amqp-failure.ts';
import { rawMessage } from './amqp-message.ts';
import { bindOwnQueue, ensureExchange } from './amqp-topology.ts';
import type { SessionEnd, SessionOptions, Transport } from './broker.ts';
import type { AmqpUrl, BrokerUrl } from './broker-url.ts';
import { type ListeningClock, PROOF_INTERVAL_MS } from './listening-clock.ts';

export function createAmqpTransport(listening: ListeningClock): Transport {
  return {
    run: async (options) =>
      isAmqp(options.url)
        ? new AmqpSession(options, options.url, listening).run()
        : { kind: 'unusable', reason: NOT_AMQP },
    now: () => listening.wallMs(performance.now(), Date.now()),
    listenedMs: () => listening.listenedMs,
    reachable: async (url, signal) => isAmqp(url) && isListening(url, signal),
  };
}

const NOT_AMQP = 'not an AMQP address';

function isAmqp(url: BrokerUrl): url is AmqpUrl {
  return url.scheme === 'amqp' || url.scheme === 'amqps';
}

/** From the first packet to the last; the first of all the things that may end it is why it ended. */
class AmqpSession {
  readonly #options: SessionOptions;
  readonly #url: AmqpUrl;
  readonly #listening: ListeningClock;
  /** Aborted at the end: however the session got there, its socket is destroyed. */
  readonly #socket = new AbortController();
  readonly #ended: Promise<SessionEnd>;
  #resolveEnded: (end: SessionEnd) => void = () => undefined;
  #model: ChannelModel | undefined;
  #ready = false;
  #over = false;
  #proofTimer: NodeJS.Timeout | undefined;
  /** When what is being looked at was read, epoch ms: asked once for all the messages in it. */
  #readAtMs = 0;

  constructor(options: SessionOptions, url: AmqpUrl, listening: ListeningClock) {
    this.#options = options;
    this.#url = url;
    this.#listening = listening;
    this.#ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
  }

  async run(): Promise<SessionEnd> {
    const { signal, connectTimeoutMs } = this.#options;
    const stop = (): void => this.#end({ kind: 'stopped' });
    signal.addEventListener('abort', stop);
    if (signal.aborted) stop();
    const reason = `no answer within ${connectTimeoutMs} ms`;
    const deadline = setTimeout(() => this.#end({ kind: 'unreachable', reason }), connectTimeoutMs);
    if (!signal.aborted) void this.#open(deadline);
    const end = await this.#ended;
    clearTimeout(deadline);
    signal.removeEventListener('abort', stop);
    if (this.#model !== undefined) await closeConnection(this.#model);
    this.#socket.abort();
    return end;
  }

  /** Connects and subscribes, either within the connect timeout; never rejects. */
  async #open(deadline: NodeJS.Timeout): Promise<void> {
    const { eventExchange } = this.#options;
    try {
      const onRead = (upMs: number): void => this.#noteRead(upMs);
      const model = await openConnection(this.#url, this.#options, this.#socket.signal, onRead);
      this.#model = model;
      model.on('error', (error) => this.#broken(error));
      model.on('close', (error) => this.#broken(error ?? new Error('the connection was closed')));
      if (this.#over) return;
      deadline.refresh();
      if (await ensureExchange(model, eventExchange)) this.#options.exchangeMade?.();
      const channel = await model.createChannel();
      // A call that fails for the same cause says it better, and is first.
      channel.on('error', (error) => setImmediate(() => this.#broken(error)));
      const queue = await bindOwnQueue(channel, this.#options);
      // noAck as Celery's own receiver has it: an event that we fail to count is not worth a second delivery.
      await channel.consume(queue, (message) => this.#receive(message), { noAck: true });
      clearTimeout(deadline);
      this.#becomeReady();
      this.#proofTimer = setInterval(() => this.#askForProof(channel), PROOF_INTERVAL_MS).unref();
    } catch (error) {
      this.#broken(error);
    }
  }

  /** Something came, and with it everything that the broker had sent before. */
  #noteRead(upMs: number): void {
    this.#readAtMs = Date.now();
    if (this.#ready && !this.#over) this.#listening.proven(upMs, this.#readAtMs);
  }

  /** A dead connection and a quiet cluster look alike, until the broker answers something. */
  #askForProof(channel: Channel): void {
    if (this.#over || !this.#listening.needsProof(performance.now())) return;
    // Nothing is acknowledged, so a prefetch limit means nothing, and this one is none. Whoever breaks the channel says why.
    channel.prefetch(0).catch(() => undefined);
  }

  #receive(message: ConsumeMessage | null): void {
    if (this.#over) return;
    if (message === null) {
      this.#broken(new Error('the broker cancelled our subscription: the queue was deleted'));
      return;
    }
    // The first messages may come in one packet with the answer to the subscription.
    if (!this.#ready) this.#becomeReady();
    this.#options.deliver(rawMessage(message, this.#readAtMs), this.#listening.listenedMs);
  }

  #becomeReady(): void {
    if (this.#ready || this.#over) return;
    this.#ready = true;
    this.#listening.begin(performance.now(), Date.now());
    this.#options.ready(this.#options.eventExchange);
  }

  #broken(error: unknown): void {
    this.#end(this.#ready ? { kind: 'lost', reason: reasonOf(error) } : openingFailure(error, this.#url));
  }

  /** Of several errors that one cause brings about the first tells the most; the others change nothing. */
  #end(end: SessionEnd): void {
    this.#over = true;
    clearInterval(this.#proofTimer);
    this.#listening.end();
    this.#resolveEnded(end);
  }
}
