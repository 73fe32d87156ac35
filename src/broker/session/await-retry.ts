/**
 * Waits between two connection attempts. Events are lost while disconnected, so it also probes the broker: the broker’s
 * return is noticed within a second or two, however long the wait is. It does not connect.
 */
import { pause } from '../../timing/pause.ts';

const PROBE_INTERVAL_MS = 1000;

export interface RetryWait<Url> {
  readonly waitMs: number;
  /** Addresses to probe: those that did not reply to the last attempt. */
  readonly unreachable: readonly Url[];
  /** Whether the port accepts connections; must not reject. */
  readonly reachable: (url: Url, signal: AbortSignal) => Promise<boolean>;
  /** Returns a number in [0, 1), which varies the time between probes. */
  readonly random: () => number;
  readonly signal: AbortSignal;
}

/** Resolves after the wait, or when the signal aborts; or earlier, with the address of a broker that is reachable again. */
export async function awaitRetry<Url>(retry: RetryWait<Url>): Promise<Url | undefined> {
  const over = new AbortController();
  const stop = (): void => over.abort();
  retry.signal.addEventListener('abort', stop);
  if (retry.signal.aborted) stop();
  let recovered: Url | undefined;
  const probes = retry.unreachable.map(async (url) => {
    if (!(await recovers(url, retry, over.signal))) return;
    recovered ??= url;
    stop();
  });
  await pause(retry.waitMs, over.signal);
  stop();
  retry.signal.removeEventListener('abort', stop);
  await Promise.all(probes);
  return recovered;
}

/** Resolves true once an unreachable address is reachable again; false when the wait is over. */
async function recovers<Url>(
  url: Url,
  { reachable, random }: RetryWait<Url>,
  over: AbortSignal,
): Promise<boolean> {
  /*
   * If the port accepts connections right after a failed attempt, probing does not help: TLS fails, or a proxy stands in front
   * of a dead broker. Retrying at once would defeat the back-off.
   */
  if (await reachable(url, over)) return false;
  while (!over.aborted) {
    await pause(PROBE_INTERVAL_MS * (0.75 + random() / 2), over);
    if (!over.aborted && (await reachable(url, over))) return !over.aborted;
  }
  return false;
}
