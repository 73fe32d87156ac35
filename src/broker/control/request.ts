/**
 * Makes the messages of remote control for every transport (kombu: pidbox.py, transport/virtual): requests, and the names
 * under which replies arrive. Nothing else is ever published to workers or written for them. Pure.
 */
import { COMMANDS, type ControlCommand } from './commands.ts';

/** Nodenames of workers. Never empty: Celery takes an empty list for all workers. */
export type Destination = readonly [string, ...string[]];

/** The most workers that one request is addressed to. */
const DESTINATION_MAX = 500;

/** Splits workers into the destinations of as many requests as needed. */
export function* destinationsOf(nodenames: readonly string[]): Iterable<Destination> {
  for (let from = 0; from < nodenames.length; from += DESTINATION_MAX) {
    const [first, ...others] = nodenames.slice(from, from + DESTINATION_MAX);
    if (first !== undefined) yield [first, ...others];
  }
}

/** Where requests go, and where their replies arrive. */
export interface ControlNames {
  /** The exchange of requests: a fanout exchange, to which the queue of each worker is bound. */
  readonly requests: string;
  /** The exchange of replies: a direct exchange. */
  readonly replies: string;
  /** The routing key of our replies. */
  readonly replyKey: string;
  readonly replyQueue: string;
}

export interface ControlRequest {
  readonly body: string;
  readonly headers: { readonly clock: number; readonly expires: number };
}

/** The form of our ids: a UUID. */
const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/u;

/** The exchange of requests. @param namespace Celery's `control_exchange` */
export function requestExchangeOf(namespace: string): string {
  return `${namespace}.pidbox`;
}

/**
 * @param namespace Celery's `control_exchange`
 * @param replyId a UUID
 */
export function controlNames(namespace: string, replyId: string): ControlNames {
  if (!ID.test(replyId)) throw new TypeError('the id of a reply queue must be a UUID');
  const replies = `reply.${namespace}.pidbox`;
  return {
    requests: requestExchangeOf(namespace),
    replies,
    replyKey: replyId,
    replyQueue: `${replyId}.${replies}`,
  };
}

/**
 * @param destination undefined: all workers
 * @param ticket returned in the headers of each reply
 * @param expiresS when the wait for replies ends, epoch seconds; Celery ignores it
 */
export function controlRequest(
  command: ControlCommand,
  destination: Destination | undefined,
  names: ControlNames,
  ticket: string,
  expiresS: number,
): ControlRequest {
  const body = {
    method: command,
    arguments: COMMANDS[command].arguments,
    destination: destination ?? null,
    pattern: null,
    matcher: null,
    ticket,
    reply_to: { exchange: names.replies, routing_key: names.replyKey },
  };
  // Workers raise their own logical clock to this value: a high one would break the order of their events.
  return { body: JSON.stringify(body), headers: { clock: 1, expires: expiresS } };
}

/** Wraps a request in kombu’s envelope. A worker that gets a message without one of these properties exits (Celery up to 5.6). */
export function requestEnvelope(request: ControlRequest, names: ControlNames, deliveryTag: string): string {
  return JSON.stringify({
    body: Buffer.from(request.body).toString('base64'),
    'content-type': 'application/json',
    'content-encoding': 'utf-8',
    headers: request.headers,
    properties: {
      delivery_tag: deliveryTag,
      delivery_mode: 1,
      delivery_info: { exchange: names.requests, routing_key: '' },
      priority: 0,
      body_encoding: 'base64',
    },
  });
}

/**
 * The member of kombu’s set of bindings that routes replies to our queue. A member without exactly three parts breaks
 * replies for all clients.
 * @throws if the separator occurs in a name
 */
export function replyBinding({ replyKey, replyQueue }: ControlNames, separator: string): string {
  const parts = [replyKey, '', replyQueue];
  const member = parts.join(separator);
  if (JSON.stringify(member.split(separator)) !== JSON.stringify(parts))
    throw new Error(
      'the separator of the bindings must not occur in control_exchange or in hexadecimal numbers',
    );
  return member;
}
