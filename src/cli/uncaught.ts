/**
 * Handles uncaught exceptions. An exception from a broker connection ends all sessions with brokers, since it does not
 * show which one is affected; any other ends the process, after a last export.
 */
import type { Bridge } from '../bridge/bridge.ts';
import type { CommandIo } from './command-io.ts';
import { EXIT_CODE } from './exit-code.ts';

/** Stack frames of broker clients, and of our code around them. */
const TRANSPORT_FRAME =
  /[\\/](?:node_modules[\\/](?:ioredis|redis-errors|amqplib)|(?:src|dist)[\\/]broker)[\\/]/u;
/** Errors with messages of the engine, which quote nothing that a peer has sent. */
const ENGINE_ERRORS = [TypeError, RangeError, ReferenceError];
const FRAMES_MAX = 4;
/** The deadline of the last export, as for a signal (`until-stopped.ts`). */
const EXIT_DEADLINE_MS = 4800;

/**
 * @returns `fatal`, which resolves with the first exception that must end the process, and `end`, which stops handling
 * exceptions
 */
export function catchUncaught(io: CommandIo, bridge: Pick<Bridge, 'noteUncaught'>) {
  const fatal = Promise.withResolvers<'crashed'>();
  let isEnding = false;
  const onUncaught = (error: unknown): void => {
    const isOfTransport = error instanceof Error && TRANSPORT_FRAME.test(error.stack ?? '');
    bridge.noteUncaught(isOfTransport ? 'transport' : 'process', described(error));
    if (isOfTransport) return;
    if (isEnding) io.exitNow(EXIT_CODE.failed);
    isEnding = true;
    setTimeout(() => io.exitNow(EXIT_CODE.failed), EXIT_DEADLINE_MS).unref();
    fatal.resolve('crashed');
  };
  io.crashes.on('uncaughtException', onUncaught);
  return {
    fatal: fatal.promise,
    end: () => void io.crashes.off('uncaughtException', onUncaught),
  };
}

/**
 * The kind of the error, and where it was thrown. Its message may contain secrets, for example if a server repeats a
 * password.
 */
function described(error: unknown): string {
  if (!(error instanceof Error)) return 'a thrown value that is not an Error';
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /u.test(line));
  const message = ENGINE_ERRORS.some((kind) => error instanceof kind) ? `: ${error.message}` : '';
  return [`${error.name}${message}`, ...frames.slice(0, FRAMES_MAX).map((frame) => frame.trim())].join(' ');
}
