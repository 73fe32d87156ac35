/**
 * Ends the connections of our clients whose server breaks the protocol. ioredis handles each reply on the stack of its parser, and
 * throws again in a later turn what goes wrong, where nobody can catch it: that would end the process. Clients of others are
 * left as they are.
 */
import type { Redis } from 'ioredis';
import { Malformed } from '../server/malformed.ts';
import { ReplyBounds } from './reply-bounds.ts';

/** The part of ioredis that handles replies. */
interface ReplyHandler {
  readonly redis: object;
  dispatch(act: () => void): void;
  returnFatalError(error: unknown): void;
}

/** What it says, without throwing, of an answer to nothing. */
const UNASKED = /^Command queue state error/u;

const guarded = new WeakMap<object, Redis>();

/** @throws if ioredis’s internals have changed */
export function guardReplies(handlers: { readonly prototype: object }): void {
  const { prototype } = handlers;
  if (!isReplyHandler(prototype)) throw new Error('ioredis handles replies in a way that we do not know');
  const { dispatch, returnFatalError } = prototype;
  prototype.dispatch = function (act) {
    try {
      act();
    } catch (error) {
      // It ends the parsing of the chunk, and comes back as a fatal error.
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
    // The server may not close it.
    client.stream.destroy();
  };
}

/** It also prints errors that nobody listens to. */
export function guardClient(client: Redis): void {
  guarded.set(client, client);
  client.on('connect', () => boundReplies(client));
  client.on('error', (error) => {
    if (UNASKED.test(error.message)) throw new Malformed('Redis', 'it answers what nobody asked');
  });
}

/** A chunk with something beyond the bounds reaches no decoder. */
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
