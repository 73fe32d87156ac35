/** Converts amqplib’s message to a RawMessage. It copies no content, since it runs once per message. */
import type { ConsumeMessage } from 'amqplib';
import type { RawMessage } from '../broker.ts';
import { BODY_DROPPED } from './bodies.ts';
import { UNDECODABLE } from './headers.ts';

const NO_HEADERS: Readonly<Record<string, unknown>> = Object.freeze({});

export function rawMessage({ fields, properties, content }: ConsumeMessage, arrivedAtMs: number): RawMessage {
  return {
    arrivedAtMs,
    exchange: fields.exchange,
    routingKey: fields.routingKey,
    contentType: properties.contentType ?? '',
    contentEncoding: properties.contentEncoding ?? '',
    headers: properties === UNDECODABLE ? undefined : (properties.headers ?? NO_HEADERS),
    body: properties === BODY_DROPPED ? undefined : content,
  };
}
