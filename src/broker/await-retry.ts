/**
 * The wait between two attempts, and the watch kept meanwhile: events are lost while we are away, so a broker that is
 * back should be noticed within a second or two, however long the wait.
 */
import { pause } from './pause.ts';

const PROBE_INTERVAL_MS = 1000;

export interface RetryWait<Url> {
  readonly waitMs: number;
  /** Addresses that nobody answered at; with none of them nothing cuts the wait short. */
  readonly dead: readonly Url[];
  /** Whether something listens there; must not reject. */
  readonly reachable: (url: Url, signal: AbortSignal) => Promise<boolean>;
  /** In [0, 1). */
  readonly random: () => number;
  readonly signal: AbortSignal;
}

/** Resolves when the time is over or the signal aborts, or early with an address that came back to life. */
export async function awaitRetry<Url>(retry: RetryWait<Url>): Promise<Url | undefined> {
  const over = new AbortController();
  const stop = (): void => over.abort();
  retry.signal.addEventListener('abort', stop);
  if (retry.signal.aborted) stop();
  let revived: Url | undefined;
  const watches = retry.dead.map(async (url) => {
    if (!(await comesBack(url, retry, over.signal))) return;
    revived ??= url;
    stop();
  });
  await pause(retry.waitMs, over.signal);
  stop();
  retry.signal.removeEventListener('abort', stop);
  await Promise.all(watches);
  return revived;
}

/** Resolves true once something listens again at an address where nothing did; false when the watch is over. */
async function comesBack<Url>(
  url: Url,
  { reachable, random }: RetryWait<Url>,
  over: AbortSignal,
): Promise<boolean> {
  /*
   * Where something listens right after a failed attempt a probe tells nothing: TLS fails, or a proxy stands before a
   * dead broker. To go on at every such sign would undo the back-off.
   */
  if (await reachable(url, over)) return false;
  while (!over.aborted) {
    await pause(PROBE_INTERVAL_MS * (0.75 + random() / 2), over);
    if (!over.aborted && (await reachable(url, over))) return !over.aborted;
  }
  return false;
}
