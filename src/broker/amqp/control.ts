/**
 * Sends remote control commands through RabbitMQ, over a separate connection: an alarm blocks publishing on a
 * connection, and an error must not interrupt the events. Replies arrive in an exclusive queue, which the broker
 * deletes with the connection.
 */
import { randomUUID } from 'node:crypto';
import type { ChannelModel } from 'amqplib';
import { pause } from '../../timing/pause.ts';
import type { ControlAnswer, ControlQuestion } from '../control/control.ts';
import { Gathering } from '../control/gathering.ts';
import { controlRequest, requestExchangeOf } from '../control/request.ts';
import { type Desk, exists, openDesk, removeReplyExchange } from './control-desk.ts';
import type { DeliveryOptions } from './deliveries.ts';
import { LazyConnection } from './lazy-connection.ts';

/** How long no command is sent if the request exchange is missing: RabbitMQ logs an error for each check. Doubled each time. */
const MISSING_FOR_MS_MIN = 5000;
const MISSING_FOR_MS_MAX = 300_000;
/** The broker may no longer respond: closing waits at most this long. */
const CLEAN_UP_MS_MAX = 800;

/** Connects; `onDelivery` gets the messages for our consumer. */
export type ConnectControl = (
  onDelivery: DeliveryOptions['onDelivery'],
  signal: AbortSignal,
) => Promise<ChannelModel>;

/** A command that waits for replies. */
interface Pending {
  readonly gathering: Gathering;
  /** Stops waiting. */
  readonly finish: () => void;
  readonly fail: (error: Error) => void;
}

/** The remote control of one session. */
export class AmqpControl {
  readonly #connect: ConnectControl;
  readonly #connection: LazyConnection;
  readonly #leavesNothing: boolean;
  /** The exchanges that we declared, and delete at the end. */
  readonly #declared = new Set<string>();
  /** The reply queues of the current connection, by namespace. */
  readonly #desks = new Map<string, Desk>();
  #model: ChannelModel | undefined;
  /** Why the broker blocks publishing on the current connection; undefined if it does not. */
  #blocked: string | undefined;
  #pending: Pending | undefined;
  /** How many replies have arrived since the last command ended. */
  #late = 0;
  #hasEnded = false;
  /** Set if no worker was listening: no command is sent before `untilMs` (monotonic); `forMs` is the next wait. */
  #missing = { untilMs: 0, forMs: MISSING_FOR_MS_MIN };

  /** @param leavesNothing whether to delete Celery’s reply exchange at the end if we declared it and nobody uses it */
  constructor(connect: ConnectControl, leavesNothing: boolean) {
    this.#connect = connect;
    this.#leavesNothing = leavesNothing;
    this.#connection = new LazyConnection((signal) => connect(this.#receive, signal));
  }

  /** Sends a command and waits for its replies; one at a time. @throws if it cannot be sent, or the signal aborts */
  async ask(question: ControlQuestion, signal: AbortSignal): Promise<ControlAnswer> {
    if (this.#hasEnded) throw new Error('the session has ended');
    if (performance.now() < this.#missing.untilMs) return NOBODY;
    // Keep the connection: the broker would hold it until the alarm ends, even if we closed it.
    const answer = this.#isBlocked()
      ? 'blocked'
      : await this.#connection.use((model) => this.#askOn(model, question, signal), signal);
    if (answer === 'blocked') throw new Error(`the broker blocks publishers: ${this.#blocked}`);
    return answer;
  }

  /** Closes the connection and sends no more commands. Never rejects. */
  async end(): Promise<void> {
    this.#hasEnded = true;
    await this.#connection.end();
    if (this.#declared.size > 0) await this.#cleanUp().catch(() => undefined);
  }

  /** Deletes the exchanges that we declared, over another connection: an aborted command closes its own. */
  async #cleanUp(): Promise<void> {
    const signal = AbortSignal.timeout(CLEAN_UP_MS_MAX);
    const connection = new LazyConnection((socket) => this.#connect(() => undefined, socket));
    const remove = async (model: ChannelModel): Promise<void> => {
      for (const exchange of this.#declared) await removeReplyExchange(model, exchange, signal);
    };
    await connection.use(remove, signal);
    await connection.end();
  }

  #isBlocked(): boolean {
    return this.#blocked !== undefined && this.#connection.isOpen(this.#model);
  }

  async #askOn(
    model: ChannelModel,
    question: ControlQuestion,
    signal: AbortSignal,
  ): Promise<ControlAnswer | 'blocked'> {
    if (this.#model !== model) this.#follow(model);
    // Checked first, so that nothing is declared for replies if no worker is listening.
    if (!(await exists(model, requestExchangeOf(question.namespace)))) {
      const { forMs } = this.#missing;
      this.#missing = { untilMs: performance.now() + forMs, forMs: Math.min(2 * forMs, MISSING_FOR_MS_MAX) };
      return NOBODY;
    }
    this.#missing = { untilMs: 0, forMs: MISSING_FOR_MS_MIN };
    const desk = await this.#deskOf(model, question.namespace);
    const answer = await this.#gather(desk, question, signal);
    if (this.#isBlocked()) return 'blocked';
    // Its binding may have been lost with a deleted exchange: the next command makes a new one.
    if (answer.taken === 0 && answer.receivers !== 0) await this.#drop(question.namespace, desk);
    return answer;
  }

  async #gather(desk: Desk, question: ControlQuestion, signal: AbortSignal): Promise<ControlAnswer> {
    const { promise: failed, reject: fail } = Promise.withResolvers<never>();
    const finished = new AbortController();
    const finish = (): void => finished.abort();
    const ticket = randomUUID();
    const gathering = new Gathering(ticket, question.take, this.#late);
    this.#late = 0;
    this.#pending = { gathering, finish, fail };
    signal.addEventListener('abort', finish);
    try {
      publish(desk, question, ticket);
      await Promise.race([pause(question.timeoutMs, finished.signal), failed]);
      signal.throwIfAborted();
      return gathering.answer();
    } finally {
      this.#pending = undefined;
      signal.removeEventListener('abort', finish);
      finish();
    }
  }

  async #deskOf(model: ChannelModel, namespace: string): Promise<Desk> {
    const known = this.#desks.get(namespace);
    if (known !== undefined) return known;
    const isCurrent = (): boolean => this.#model === model;
    const desk = await openDesk(model, namespace, {
      onReturn: () => {
        if (!isCurrent() || this.#pending === undefined) return;
        this.#pending.gathering.receivers = 0;
        this.#pending.finish();
      },
      onError: (error) => {
        if (isCurrent()) this.#pending?.fail(error);
      },
      onCancel: () => {
        if (isCurrent()) this.#desks.delete(namespace);
      },
      onDeclared: (exchange) => {
        if (this.#leavesNothing) this.#declared.add(exchange);
      },
    });
    this.#desks.set(namespace, desk);
    return desk;
  }

  /** Starts to use a new connection. */
  #follow(model: ChannelModel): void {
    this.#model = model;
    this.#desks.clear();
    this.#blocked = undefined;
    model.on('blocked', (reason: string) => {
      if (this.#model !== model) return;
      this.#blocked = reason;
      this.#pending?.finish();
    });
    model.on('unblocked', () => {
      if (this.#model === model) this.#blocked = undefined;
    });
  }

  async #drop(namespace: string, { channel }: Desk): Promise<void> {
    this.#desks.delete(namespace);
    await channel.close();
  }

  readonly #receive: DeliveryOptions['onDelivery'] = ({ exchange, routingKey }, properties, body) => {
    if (this.#pending === undefined) {
      this.#late += 1;
      return;
    }
    const { contentType, contentEncoding, headers } = properties;
    const arrivedAtMs = Date.now();
    const { gathering, finish } = this.#pending;
    gathering.offer({ arrivedAtMs, exchange, routingKey, contentType, contentEncoding, headers, body });
    if (gathering.isDone) finish();
  };
}

const NOBODY: ControlAnswer = { ...new Gathering('', () => false).answer(), receivers: 0 };

function publish({ channel, names }: Desk, question: ControlQuestion, ticket: string): void {
  const { command, destination, timeoutMs } = question;
  const expiresS = (Date.now() + timeoutMs) / 1000;
  const { body, headers } = controlRequest(command, destination, names, ticket, expiresS);
  channel.publish(names.requests, '', Buffer.from(body), {
    mandatory: true,
    deliveryMode: 1,
    priority: 0,
    contentType: 'application/json',
    contentEncoding: 'utf-8',
    headers,
  });
}
