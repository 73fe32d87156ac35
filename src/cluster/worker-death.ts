/**
 * When a process of a worker is known to be dead. Silence alone proves little: a worker that shuts down says goodbye and
 * then ends its tasks, one of pool solo is silent while it runs one. Pure; it changes nothing.
 */
import type { WorkerExit } from './observation.ts';
import type { WorkerInstance } from './worker-instance.ts';

/** How long silence is listened to, in listened time, before something follows from it. */
export interface Patience {
  /** Without a sign of life for longer than this a worker is not up. */
  readonly workerTimeoutMs: number;
  /** Without one for longer than this, a worker whose heartbeats went on while it ran tasks is taken for dead. */
  readonly lostTimeoutMs: number;
  /** A worker that is not up for longer than this is forgotten, and its series with it. */
  readonly seriesRetentionMs: number;
}

/** How it is known: `replaced` by a process with another pid, `restarted` with the same one, or by its silence. */
export type Death = Exclude<WorkerExit, 'goodbye'>;

/** How long a process whose successor has come may still be heard of; a broker delivers its tasks anew meanwhile. */
const LAST_WORDS_MS = 10_000;

/** @param siblings all processes that are known under its name, in the order in which they began */
export function deathOf(
  instance: WorkerInstance,
  siblings: readonly WorkerInstance[],
  patience: Patience,
  listenedMs: number,
): Death | undefined {
  const voice = voiceOf(instance);
  if (voice === instance && listenedMs - instance.lastSeenMs > LAST_WORDS_MS) {
    if (instance.rebornAs !== undefined) return 'restarted';
    if (isReplaced(instance, siblings)) return 'replaced';
  }
  if (instance.dropped === 'retired') return 'silence';
  const silentMs = listenedMs - voice.lastSeenMs;
  if (voice.beatsWhileRunning && !voice.offline && silentMs > patience.lostTimeoutMs) return 'silence';
  return listenedMs - goneAtMs(voice, patience) > patience.seriesRetentionMs ? 'silence' : undefined;
}

/** Since when it is not up, in listened time, ms; in the future while it is. */
export function goneAtMs(instance: WorkerInstance, { workerTimeoutMs }: Patience): number {
  return instance.offline ? instance.lastSeenMs : instance.lastSeenMs + workerTimeoutMs;
}

/** Under which it is heard of: where two processes share a name and a pid, nobody can tell one from the other. */
function voiceOf(instance: WorkerInstance): WorkerInstance {
  let voice = instance;
  while (voice.rebornAs?.isShared === true) voice = voice.rebornAs;
  return voice;
}

/** Whether another process has begun since its last word; one that goes on beside another only shares its name. */
function isReplaced(instance: WorkerInstance, siblings: readonly WorkerInstance[]): boolean {
  const newest = siblings.at(-1);
  return newest !== undefined && newest !== instance && instance.lastToldMs <= newest.firstToldMs;
}
