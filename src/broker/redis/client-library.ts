/**
 * Loads ioredis when a client is first needed: it takes memory and slows down all methods of strings, which a process
 * without Redis should not pay for. It makes no client.
 */

import { guardReplies } from './reply-guard.ts';

/** Enough for the engine to notice a property that is read often. */
const READS = 100;

type Library = Pick<typeof import('ioredis'), 'Redis'>;

let loading: Promise<Library> | undefined;

export async function loadClientLibrary(): Promise<Library> {
  loading ??= load();
  return await loading;
}

async function load(): Promise<Library> {
  const [{ Redis }, { default: handlers }] = await Promise.all([
    import('ioredis'),
    import('ioredis/built/DataHandler.js'),
  ]);
  guardReplies(handlers.default);
  keepStringsFast();
  return { Redis };
}

/**
 * ioredis has a subclass of String. V8 prepares the prototype of such a class for changes, and from then on calls of
 * `charCodeAt` and the like take several times as long, in the whole process; until a property of a String object, which a
 * plain string is not, is read a few times.
 */
function keepStringsFast(): void {
  const text: unknown = Object('x');
  for (let read = 0; read < READS; read += 1) if (text instanceof String) text.charCodeAt(0);
}
