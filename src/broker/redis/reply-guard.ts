/**
 * Ends the connections of our clients whose server breaks the protocol. ioredis handles each reply on the stack of its parser, and
 * throws again in a later turn what goes wrong, where nobody can catch it: that would end the process. Clients of others are
 * left as they are.
 */
import type { Redis } from 'ioredis';
import { Malformed } from '../server/malformed.ts';

/** The part of ioredis that handles replies. */
interface ReplyHandler {
  readonly redis: object;
  dispatch(act: () => void): void;
  returnFatalError(error: unknown): void;
}

/** What it says, without throwing, of an answer to nothing. */
const UNASKED = /^Command queue state error/u;

/**
 * Of one reply, or message: ioredis keeps it until it is complete, and Redis has no limit for its subscribers by default. The longest
 * message of Celery that is read has 6 MiB.
 */
export const REPLY_BYTES_MAX = 32 * 1024 * 1024;

interface Guarded {
  readonly client: Redis;
  /** Received since the last reply that was complete. */
  bytes: number;
}

const guarded = new WeakMap<object, Guarded>();

/** @throws if ioredis’s internals have changed */
export function guardReplies(handlers: { readonly prototype: object }): void {
  const { prototype } = handlers;
  if (!isReplyHandler(prototype)) throw new Error('ioredis handles replies in a way that we do not know');
  const { dispatch, returnFatalError } = prototype;
  prototype.dispatch = function (act) {
    const guard = guarded.get(this.redis);
    if (guard !== undefined) guard.bytes = 0;
    try {
      act();
    } catch (error) {
      // It ends the parsing of the chunk, and comes back as a fatal error.
      if (guard !== undefined) throw error;
      dispatch.call(this, () => {
        throw error;
      });
    }
  };
  prototype.returnFatalError = function (error) {
    const client = guarded.get(this.redis)?.client;
    if (client === undefined) {
      returnFatalError.call(this, error);
      return;
    }
    const malformed = error instanceof Malformed ? error : new Malformed('Redis', error);
    client.recoverFromFatalError(malformed, malformed, {});
    // The server may not close it.
    client.stream.destroy();
  };
}

/** It also prints errors that nobody listens to. */
export function guardClient(client: Redis): void {
  const guard: Guarded = { client, bytes: 0 };
  guarded.set(client, guard);
  client.on('connect', () => {
    guard.bytes = 0;
    client.stream.on('data', (chunk: Buffer) => {
      guard.bytes += chunk.length;
      if (guard.bytes > REPLY_BYTES_MAX)
        client.stream.destroy(new Malformed('Redis', `a reply has more than ${REPLY_BYTES_MAX} bytes`));
    });
  });
  client.on('error', (error) => {
    if (UNASKED.test(error.message)) throw new Malformed('Redis', 'it answers what nobody asked');
  });
}

function isReplyHandler(prototype: object): prototype is ReplyHandler {
  return (
    'dispatch' in prototype &&
    typeof prototype.dispatch === 'function' &&
    'returnFatalError' in prototype &&
    typeof prototype.returnFatalError === 'function'
  );
}
