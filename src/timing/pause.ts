/** A delay that a signal can cut short. */
import timers from 'node:timers/promises';

/** Resolves after `ms`, or as soon as the signal aborts. Never rejects, and leaves no listener or timer behind. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  // The timer rejects only if the signal aborts.
  await timers.setTimeout(ms, undefined, { signal }).catch(() => undefined);
}
