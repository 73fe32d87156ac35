/**
 * Classifies the errors of amqplib by why a session could not be opened. Socket errors are Node’s own; errors that the broker
 * sent have a text and a reply code. Pure.
 */
import { reasonOf } from '../../text/errors.ts';
import type { NotOpened } from '../broker.ts';
import { Malformed } from '../server/malformed.ts';
import { Refusal } from '../server/refusal.ts';
import { unreachable } from '../server/tls-failure.ts';
import type { AmqpUrl } from './url.ts';

/** The AMQP reply codes that we act on (AMQP 0-9-1, 1.2). */
export const REPLY = {
  CONNECTION_FORCED: 320,
  ACCESS_REFUSED: 403,
  NOT_FOUND: 404,
  RESOURCE_LOCKED: 405,
  PRECONDITION_FAILED: 406,
} as const;

/** The reply code with which the broker closed a channel or the connection; undefined for any other error. */
export function replyCode(error: unknown): number | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'number' ? error.code : undefined;
}

/** amqplib’s errors about violations of the protocol, and about a channel that it closes because of a violation. */
const AGAINST_PROTOCOL =
  /^(?:Channel closing|Expected |Unexpected frame|Invalid frame|Unknown (?:frame|class)|Frame (?:size|on)|Server frameMax|Too much content|Wasn't expecting|a message begins|a body is longer)/u;

/**
 * Matches the stack of an error that amqplib throws while it decodes malformed data. Its errors about data that we send begin
 * with the name of a field, and do not match.
 */
const IN_READER =
  /^(?!\w*Error: Field ').*(?:\n\s+at .*){0,4}\n\s+at .*[\\/]amqplib[\\/]lib[\\/](?:codec|defs|frame|mux|connection|channel)/u;

/** Converts the error of a connection to Malformed if the broker violated the protocol, which may also make amqplib throw a TypeError. */
export function causeOf(error: unknown): unknown {
  const isBroken =
    ((error instanceof TypeError || error instanceof RangeError) && IN_READER.test(error.stack ?? '')) ||
    (error instanceof Error && AGAINST_PROTOCOL.test(error.message) && !DROPPED.test(error.message));
  return isBroken ? new Malformed('AMQP', error) : error;
}

/** amqplib’s error when the broker closes the connection while it opens: the broker’s own text is dropped. */
export const DROPPED = /^Expected ConnectionOpenOk; got <ConnectionClose\b/u;

/** Why a session could not be opened. */
export function openingFailure(error: unknown, url: AmqpUrl): NotOpened {
  const reason = reasonOf(error);
  if (error instanceof Refusal) return { kind: 'refused', reason };
  if (error instanceof Malformed) return { kind: 'malformed', reason };
  // The broker’s own text could not be obtained.
  if (DROPPED.test(reason)) {
    const hint = 'does it exist, may the user access it, and is a connection limit reached?';
    return {
      kind: 'refused',
      reason: `the broker closed the connection at virtual host "${url.vhost}": ${hint}`,
    };
  }
  return isUnreachable(error) ? unreachable(error) : { kind: 'refused', reason };
}

function isUnreachable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  // Socket, DNS and TLS errors have a code that is text; AMQP errors a reply code.
  if ('code' in error && typeof error.code === 'string') return true;
  if (replyCode(error) === REPLY.CONNECTION_FORCED) return true;
  return /^(Socket closed abruptly|Unexpected close|Heartbeat timeout|Frame size )/.test(error.message);
}
