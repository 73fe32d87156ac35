/**
 * Closes our clients’ connections if the server violates the protocol. ioredis handles replies on its parser’s stack,
 * and rethrows errors in a later turn, where they cannot be caught and would end the process. Other ioredis clients in
 * the process are unchanged.
 */
import type { Redis } from 'ioredis';
import { Malformed } from '../server/malformed.ts';
import { ReplyBounds } from './reply-bounds.ts';

/** The class of ioredis that handles replies, as far as it is used here. */
interface ReplyHandler {
  readonly redis: object;
  dispatch(act: () => void): void;
  returnFatalError(error: unknown): void;
}

/** The error that ioredis emits for an unexpected reply. */
const UNASKED = /^Command queue state error/u;

const guarded = new WeakMap<object, Redis>();

/** @throws if ioredis’s internals have changed */
export function guardReplies(handlers: { readonly prototype: object }): void {
  const { prototype } = handlers;
  if (!isReplyHandler(prototype))
    throw new Error('this version of ioredis handles replies in an unknown way');
  const { dispatch, returnFatalError } = prototype;
  prototype.dispatch = function (act) {
    try {
      act();
    } catch (error) {
      // Throwing ends the parsing of the chunk, and comes back as a fatal error.
      if (guarded.has(this.redis)) throw error;
      dispatch.call(this, () => {
        throw error;
      });
    }
  };
  prototype.returnFatalError = function (error) {
    const client = guarded.get(this.redis);
    if (client === undefined) {
      returnFatalError.call(this, error);
      return;
    }
    const malformed = error instanceof Malformed ? error : new Malformed('Redis', error);
    client.recoverFromFatalError(malformed, malformed, {});
    // The server might not close the connection.
    client.stream.destroy();
  };
}

/** Guards a client. It also listens for errors, because ioredis prints those without a listener. */
export function guardClient(client: Redis): void {
  guarded.set(client, client);
  client.on('connect', () => boundReplies(client));
  client.on('error', (error) => {
    if (UNASKED.test(error.message)) throw new Malformed('Redis', 'it sent a reply without a request');
  });
}

/** Ends the connection when a chunk exceeds a limit, before the chunk reaches the decoder. */
function boundReplies({ stream }: Redis): void {
  const bounds = new ReplyBounds();
  const push = stream.push.bind(stream);
  stream.push = (chunk: unknown, encoding?: BufferEncoding): boolean => {
    const excess = chunk instanceof Uint8Array ? bounds.excessOf(chunk) : undefined;
    if (excess === undefined) return push(chunk, encoding);
    stream.destroy(new Malformed('Redis', excess));
    return false;
  };
}

function isReplyHandler(prototype: object): prototype is ReplyHandler {
  return (
    'dispatch' in prototype &&
    typeof prototype.dispatch === 'function' &&
    'returnFatalError' in prototype &&
    typeof prototype.returnFatalError === 'function'
  );
}
