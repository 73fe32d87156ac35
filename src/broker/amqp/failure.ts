/**
 * Why a session on an AMQP broker did not come about, read from amqplib's errors: amqplib gives sockets' errors as
 * Node does, and what the broker said as text with a reply code. Pure.
 */
import type { NotOpened } from '../broker.ts';
import type { AmqpUrl } from '../broker-url.ts';

/** AMQP reply codes that we act upon (AMQP 0-9-1, 1.2). */
export const REPLY = {
  CONNECTION_FORCED: 320,
  ACCESS_REFUSED: 403,
  NOT_FOUND: 404,
  PRECONDITION_FAILED: 406,
} as const;

/** The broker said no, and its message says to what and what helps. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}

/** The reply code with which the broker closed a channel or the connection; undefined for any other error. */
export function replyCode(error: unknown): number | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'number' ? error.code : undefined;
}

/** The text of an error, also where Node tried several addresses and only says so in the parts. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(reasonOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}

/** Why a session could not be opened. */
export function openingFailure(error: unknown, url: AmqpUrl): NotOpened {
  const reason = reasonOf(error);
  // Also a Refusal, whose message is complete.
  if (error instanceof Refusal) return { kind: 'refused', reason };
  // amqplib does not say why the broker closed at this point; RabbitMQ does so for these two reasons.
  if (/^Expected ConnectionOpenOk; got <ConnectionClose\b/.test(reason)) {
    const hint = 'does it exist, and may the user use it?';
    return {
      kind: 'refused',
      reason: `the broker closed the connection at virtual host "${url.vhost}": ${hint}`,
    };
  }
  return isNobodyThere(error) ? { kind: 'unreachable', reason } : { kind: 'refused', reason };
}

function isNobodyThere(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  // Errors of sockets, DNS and TLS carry a code as text, those of AMQP a reply code.
  if ('code' in error && typeof error.code === 'string') return true;
  if (replyCode(error) === REPLY.CONNECTION_FORCED) return true;
  return /^(Socket closed abruptly|Unexpected close|Heartbeat timeout)/.test(error.message);
}
