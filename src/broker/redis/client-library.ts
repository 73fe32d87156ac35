/**
 * Loads ioredis on first use: it takes memory and slows down all string methods, from which a process without Redis should
 * be spared. It creates no client.
 */

import { guardReplies } from './reply-guard.ts';

/** How often a property is read so that the engine notices frequent use. */
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
 * ioredis has a subclass of String. V8 then treats its prototype as changeable, and `charCodeAt` and the like take
 * several times as long in the whole process, until a property of a String object (not a plain string) has been read a
 * few times.
 */
function keepStringsFast(): void {
  const text: unknown = Object('x');
  for (let read = 0; read < READS; read += 1) if (text instanceof String) text.charCodeAt(0);
}
