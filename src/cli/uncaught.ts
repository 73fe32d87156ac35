/**
 * The last resort for uncaught exceptions. One thrown by a transport ends all sessions with brokers, since it does not name its own; any
 * other ends the process, after a last export.
 */
import type { Bridge } from '../bridge/bridge.ts';
import type { CommandIo } from './command-io.ts';
import { EXIT_CODE } from './exit-code.ts';

/** The clients of brokers, and our code around them. */
const OF_TRANSPORT =
  /[\\/](?:node_modules[\\/](?:ioredis|redis-errors|amqplib)|(?:src|dist)[\\/]broker)[\\/]/u;
/** Their messages come from the engine, and quote nothing that a peer has sent. */
const PLAIN = [TypeError, RangeError, ReferenceError];
const FRAMES_MAX = 4;
/** As for a signal (`until-stopped.ts`). */
const GUARD_MS = 4800;

/** @returns resolves with the first exception that must end the process; and takes the net away */
export function catchUncaught(io: CommandIo, bridge: Pick<Bridge, 'noteUncaught'>) {
  const fatal = Promise.withResolvers<'crashed'>();
  let isEnding = false;
  const onUncaught = (error: unknown): void => {
    const isOfTransport = error instanceof Error && OF_TRANSPORT.test(error.stack ?? '');
    bridge.noteUncaught(isOfTransport ? 'transport' : 'process', described(error));
    if (isOfTransport) return;
    if (isEnding) io.exitNow(EXIT_CODE.failed);
    isEnding = true;
    setTimeout(() => io.exitNow(EXIT_CODE.failed), GUARD_MS).unref();
    fatal.resolve('crashed');
  };
  io.crashes.on('uncaughtException', onUncaught);
  return {
    fatal: fatal.promise,
    end: () => void io.crashes.off('uncaughtException', onUncaught),
  };
}

/** Its kind, and where it came from. Its message may have secrets, as that of a server that repeats a password. */
function described(error: unknown): string {
  if (!(error instanceof Error)) return 'something that is no error';
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /u.test(line));
  const message = PLAIN.some((kind) => error instanceof kind) ? `: ${error.message}` : '';
  return [`${error.name}${message}`, ...frames.slice(0, FRAMES_MAX).map((frame) => frame.trim())].join(' ');
}
