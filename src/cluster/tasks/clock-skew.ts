/**
 * Differences between the clocks of two hosts: a negative duration counts as 0, and a clearly negative one is reported, by
 * name for a bounded number of pairs of hosts.
 */
import { CHARACTER_BYTES } from '../measured-bytes.ts';

/**
 * Celery stamps `task-sent` once the task is published, some ms after a worker may have received it. Less is no skew.
 */
const TOLERATED_MS = 250;

/**
 * Two plausible clocks are at most this far apart, since each is off by a day at most. If a task started longer before its
 * ETA, the ETA is implausible.
 */
const CLOCKS_APART_MS_MAX = 2 * 24 * 60 * 60 * 1000;

/** The hosts of all pairs beyond the bound. */
const OTHER_HOSTS = 'other';

/** The host of a nodename `name@host`; the whole nodename if it has none. */
function hostOf(nodename: string): string {
  return nodename.slice(nodename.indexOf('@') + 1);
}

/** Seconds from one moment to another, at least 0; undefined if one is unknown or implausible. */
export function secondsBetween(fromMs: number | undefined, toMs: number | undefined): number | undefined {
  if (fromMs === undefined || toMs === undefined) return undefined;
  const betweenMs = toMs - fromMs;
  return betweenMs >= -CLOCKS_APART_MS_MAX ? Math.max(0, betweenMs) / 1000 : undefined;
}

/** A pair with names of usual length, and an entry without its names. */
const BYTES_PER_PAIR = 1200;
const ENTRY_BYTES = 100;

export class ClockSkews {
  readonly #pairsMax: number;
  readonly #retentionMs: number;
  readonly #onSkew: (senderHost: string, workerHost: string) => void;
  /** Pairs with a skew in the current retention period, and those that had their last one in the previous period. */
  #pairs = new Set<string>();
  #idle = new Set<string>();
  #periodSinceMs = Number.NEGATIVE_INFINITY;
  #characters = 0;
  /** Skews between pairs of hosts beyond the bound. */
  notAdmitted = 0;

  /**
   * @param retentionMs for how long a pair without a skew is remembered at least
   * @param onSkew called for each skew, with the names to count it under
   */
  constructor(
    pairsMax: number,
    retentionMs: number,
    onSkew: (senderHost: string, workerHost: string) => void,
  ) {
    this.#pairsMax = pairsMax;
    this.#retentionMs = retentionMs;
    this.#onSkew = onSkew;
  }

  /** Pairs of hosts known by name. */
  get size(): number {
    return this.#pairs.size + this.#idle.size;
  }

  /** Their memory, an upper estimate. */
  get bytes(): number {
    return this.size * ENTRY_BYTES + CHARACTER_BYTES * this.#characters;
  }

  get bytesMax(): number {
    return this.#pairsMax * BYTES_PER_PAIR;
  }

  /** Forgets the pairs that were idle for a whole period. @param listenedMs of a monotonic clock */
  forgetIdle(listenedMs: number): void {
    if (listenedMs - this.#periodSinceMs < this.#retentionMs) return;
    for (const pair of this.#idle) this.#characters -= pair.length;
    this.#idle = this.#pairs;
    this.#pairs = new Set();
    this.#periodSinceMs = listenedMs;
  }

  /** Like `secondsBetween`, from a sender’s clock to a worker’s. */
  across(
    fromMs: number | undefined,
    toMs: number | undefined,
    sender: string,
    worker: string,
  ): number | undefined {
    const betweenS = secondsBetween(fromMs, toMs);
    if (betweenS !== 0 || fromMs === undefined || toMs === undefined) return betweenS;
    if (toMs - fromMs < -TOLERATED_MS) this.#report(hostOf(sender), hostOf(worker));
    return betweenS;
  }

  #report(senderHost: string, workerHost: string): void {
    const pair = `${senderHost}\n${workerHost}`;
    if (!this.#pairs.has(pair) && !this.#idle.delete(pair)) {
      if (this.size >= this.#pairsMax) {
        this.notAdmitted += 1;
        this.#onSkew(OTHER_HOSTS, OTHER_HOSTS);
        return;
      }
      this.#characters += pair.length;
    }
    this.#pairs.add(pair);
    this.#onSkew(senderHost, workerHost);
  }
}
