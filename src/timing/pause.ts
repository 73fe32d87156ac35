/** A delay that a signal can cut short. */
import timers from 'node:timers/promises';

/** Resolves after `ms` or once the signal aborts; never rejects, and leaves no listener or timer behind. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  // It rejects only because the signal aborts.
  await timers.setTimeout(ms, undefined, { signal }).catch(() => undefined);
}
