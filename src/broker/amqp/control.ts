/**
 * Asks workers by remote control through RabbitMQ, over a connection of its own: in an alarm nobody may publish, and an error
 * must not end the events. The replies come to an exclusive queue, which the broker deletes with the connection.
 */
import { randomUUID } from 'node:crypto';
import type { Channel, ChannelModel } from 'amqplib';
import { reasonOf } from '../../errors.ts';
import type { ControlAnswer, ControlQuestion } from '../control/control.ts';
import { Gathering } from '../control/gathering.ts';
import { type ControlNames, controlNames, controlRequest } from '../control/request.ts';
import { pause } from '../pause.ts';
import { Refusal } from '../server/refusal.ts';
import { CONSUMER_TAG, type DeliveryOptions } from './deliveries.ts';
import { REPLY, replyCode } from './failure.ts';
import { KeptConnection } from './kept-connection.ts';
import { onOwnChannel } from './topology.ts';

/** Replies that nobody fetches do not stay. */
const REPLY_TTL_MS = 60_000;
const REPLY_QUEUE_BYTES_MAX = 64 * 1024 * 1024;

/** Connects; what is delivered to our consumer goes to `onDelivery`. */
export type ConnectControl = (
  onDelivery: DeliveryOptions['onDelivery'],
  signal: AbortSignal,
) => Promise<ChannelModel>;

/** What one connection has. */
interface Desk {
  readonly model: ChannelModel;
  readonly channel: Channel;
  readonly names: ControlNames;
  /** Why the broker takes no messages; undefined if it does. */
  blocked: string | undefined;
}

/** A question that waits for replies. */
interface Pending {
  readonly gathering: Gathering;
  /** Ends the waiting. */
  readonly finish: () => void;
  readonly fail: (error: Error) => void;
}

/** The remote control of one session. */
export class AmqpControl {
  readonly #connection: KeptConnection;
  #desk: Desk | undefined;
  #pending: Pending | undefined;
  /** Replies since the last question ended. */
  #late = 0;

  constructor(connect: ConnectControl) {
    this.#connection = new KeptConnection((signal) => connect(this.#receive, signal));
  }

  /** One question at a time. @throws if it cannot be asked, or the signal aborts */
  ask(question: ControlQuestion, signal: AbortSignal): Promise<ControlAnswer> {
    // The connection stays: the broker would keep it until the alarm is over, even if we closed it.
    const blocked = this.#connection.isOpen(this.#desk?.model) ? this.#desk?.blocked : undefined;
    if (blocked !== undefined) return Promise.reject(new Error(`the broker takes no messages: ${blocked}`));
    return this.#connection.use(async (model) => {
      const desk = await this.#deskOf(model, question.namespace);
      const hasWorkers = await exists(model, desk.names.requests);
      if (!hasWorkers) return { ...new Gathering('', () => false).answer(), receivers: 0 };
      return await this.#gather(desk, question, signal);
    }, signal);
  }

  /** Closes the connection; the next question opens another one. Never rejects. */
  end(): Promise<void> {
    return this.#connection.end();
  }

  async #gather(desk: Desk, question: ControlQuestion, signal: AbortSignal): Promise<ControlAnswer> {
    const { promise: failed, reject: fail } = Promise.withResolvers<never>();
    const finished = new AbortController();
    const ticket = randomUUID();
    const gathering = new Gathering(ticket, question.take, this.#late);
    this.#late = 0;
    this.#pending = { gathering, finish: () => finished.abort(), fail };
    try {
      publish(desk, question, ticket);
      const waited = pause(question.timeoutMs, AbortSignal.any([signal, finished.signal]));
      await Promise.race([waited, failed]);
      signal.throwIfAborted();
      return gathering.answer();
    } finally {
      this.#pending = undefined;
      finished.abort();
    }
  }

  /** Those of this connection. */
  async #deskOf(model: ChannelModel, namespace: string): Promise<Desk> {
    if (this.#desk?.model === model) return this.#desk;
    const names = controlNames(namespace, randomUUID());
    await ensureReplyExchange(model, names.replies);
    const channel = await model.createChannel();
    const desk: Desk = { model, channel, names, blocked: undefined };
    model.on('blocked', (reason: string) => {
      desk.blocked = reason;
    });
    model.on('unblocked', () => {
      desk.blocked = undefined;
    });
    const fail = (error: Error): void => this.#pending?.fail(error);
    channel.on('error', fail);
    model.on('close', (error?: Error) => fail(error ?? new Error('the connection was closed')));
    // No queue is bound to the exchange: there are no workers.
    channel.on('return', () => {
      if (this.#pending === undefined) return;
      this.#pending.gathering.receivers = 0;
      this.#pending.finish();
    });
    await bindReplyQueue(channel, names);
    this.#desk = desk;
    return desk;
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

async function exists(model: ChannelModel, exchange: string): Promise<boolean> {
  try {
    await onOwnChannel(model, (channel) => channel.checkExchange(exchange));
    return true;
  } catch (error) {
    if (replyCode(error) === REPLY.NOT_FOUND) return false;
    throw error;
  }
}

/** Declared as workers do, unless it exists: it goes with a restart of the broker. */
async function ensureReplyExchange(model: ChannelModel, exchange: string): Promise<void> {
  if (await exists(model, exchange)) return;
  const flags = { durable: false, autoDelete: false, internal: false };
  try {
    await onOwnChannel(model, (channel) => channel.assertExchange(exchange, 'direct', flags));
  } catch (error) {
    // It has been declared since the check, with other flags.
    if (replyCode(error) === REPLY.PRECONDITION_FAILED) return;
    if (replyCode(error) !== REPLY.ACCESS_REFUSED) throw error;
    const hint =
      'a Celery worker declares it with its first reply; or grant the user the configure permission';
    throw new Refusal(`there is no exchange "${exchange}" yet, and we may not declare it; ${hint}`, {
      cause: error,
    });
  }
}

async function bindReplyQueue(
  channel: Channel,
  { replies, replyKey, replyQueue }: ControlNames,
): Promise<void> {
  try {
    await channel.assertQueue(replyQueue, {
      exclusive: true,
      autoDelete: true,
      durable: false,
      messageTtl: REPLY_TTL_MS,
      arguments: { 'x-max-length-bytes': REPLY_QUEUE_BYTES_MAX },
    });
    await channel.bindQueue(replyQueue, replies, replyKey);
    await channel.consume(replyQueue, () => undefined, { noAck: true, consumerTag: CONSUMER_TAG });
  } catch (error) {
    if (replyCode(error) !== REPLY.ACCESS_REFUSED) throw error;
    const rights = `configure, write and read on "*.${replies}", read on "${replies}"`;
    throw new Refusal(`${reasonOf(error)}; the user needs these permissions: ${rights}`, { cause: error });
  }
}
