/**
 * Detects differences between the clocks of two hosts: a negative duration between them counts as 0, and a clearly negative one
 * is reported, with the names of the hosts for a bounded number of pairs. It corrects no timestamps.
 */
import { CHARACTER_BYTES } from '../measured-bytes.ts';

/**
 * A duration that is negative by up to this many ms is no skew: Celery stamps `task-sent` once the task is published, some ms
 * after a worker may have received it.
 */
const TOLERATED_MS = 250;

/**
 * How far two plausible clocks are apart at most, ms, since each is off by a day at most. If a task started longer before its
 * ETA, the ETA is implausible.
 */
const CLOCKS_APART_MS_MAX = 2 * 24 * 60 * 60 * 1000;

/** The name under which the hosts of all pairs beyond the bound are counted. */
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

/** The bytes of a pair with names of usual length, and of an entry without its names. */
const BYTES_PER_PAIR = 1200;
const ENTRY_BYTES = 100;

export class ClockSkews {
  readonly #pairsMax: number;
  readonly #retentionMs: number;
  readonly #onSkew: (senderHost: string, workerHost: string) => void;
  /** The pairs with a skew in the current retention period, then those that had their last skew in the previous period. */
  #pairs = new Set<string>();
  #idle = new Set<string>();
  /** When the current period began, in listened time, ms. */
  #periodSinceMs = Number.NEGATIVE_INFINITY;
  /** UTF-16 units of the names of all pairs. */
  #characters = 0;
  /** How many skews were counted without the names of their hosts, because there was no room for the pair. */
  notAdmitted = 0;

  /**
   * @param pairsMax the most pairs of hosts that are counted by name
   * @param retentionMs for how long a pair without a skew is remembered at least, in listened time
   * @param onSkew called for each skew, with the hosts to count it under
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

  /** How many pairs of hosts are counted by name. */
  get size(): number {
    return this.#pairs.size + this.#idle.size;
  }

  /** The memory of the pairs in bytes, an upper estimate. */
  get bytes(): number {
    return this.size * ENTRY_BYTES + CHARACTER_BYTES * this.#characters;
  }

  get bytesMax(): number {
    return this.#pairsMax * BYTES_PER_PAIR;
  }

  /** Forgets the pairs that had no skew for a whole period. @param listenedMs the current time, in listened time */
  forgetIdle(listenedMs: number): void {
    if (listenedMs - this.#periodSinceMs < this.#retentionMs) return;
    for (const pair of this.#idle) this.#characters -= pair.length;
    this.#idle = this.#pairs;
    this.#pairs = new Set();
    this.#periodSinceMs = listenedMs;
  }

  /** Like `secondsBetween`, from a time of a sender’s clock to a time of a worker’s clock; reports a skew between them. */
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
