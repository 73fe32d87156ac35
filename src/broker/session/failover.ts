/**
 * Decides which address is tried next, in kombu's order, and how long to wait before. Pure: randomness is an argument, and
 * it never waits itself.
 */
import type { FailoverStrategy } from '../broker.ts';

/** kombu's interval_start and interval_step: 2 s after the first cycle of failures, 4 s after the second … */
const WAIT_STEP_MS = 2000;
/** kombu's interval_max. */
const WAIT_MAX_MS = 30_000;
/** The longest wait after a brief session: the broker is up, and each second of waiting loses events. */
const WAIT_AFTER_BRIEF_MAX_MS = 4000;

/** The result of an attempt, on which the next one depends. */
export type AttemptOutcome =
  /** No session was opened. */
  | 'failed'
  /** The session ended early, before it delivered a message. */
  | 'brief'
  /** The session delivered a message or lasted for a while. */
  | 'healthy';

/**
 * Tries the addresses cycle after cycle, forever. On failure the next address is tried at once; after a full cycle comes a
 * wait of 2, 4 … 30 s, reduced by up to half at random, so that many bridges do not reconnect together. A broken session is
 * retried at once at the same address. Only a healthy session resets the wait; after a brief session it is 4 s at most.
 */
export class Failover<Url> {
  readonly #urls: readonly [Url, ...Url[]];
  readonly #strategy: FailoverStrategy;
  readonly #random: () => number;
  /** The address to try next. */
  url: Url;
  /** The first address of the current cycle, and the addresses not yet tried in it. */
  #first: Url;
  #rest: Url[] = [];
  #cyclesFailed = 0;
  #lastWasBrief = false;

  /** @param random in [0, 1). */
  constructor(urls: readonly [Url, ...Url[]], strategy: FailoverStrategy, random: () => number) {
    this.#urls = urls;
    this.#strategy = strategy;
    this.#random = random;
    this.url = this.#first = urls[0];
    this.#beginCycle();
  }

  /** Takes the outcome of the attempt at `url` and moves on. @returns the wait before the next attempt, ms */
  next(outcome: AttemptOutcome): number {
    // Repeated brief sessions count as failures: otherwise a broker that closes each one would be retried without a pause.
    const failed = outcome === 'failed' || (outcome === 'brief' && this.#lastWasBrief);
    this.#lastWasBrief = outcome === 'brief';
    if (outcome === 'healthy') this.#cyclesFailed = 0;
    if (!failed) {
      this.#beginCycleAt(this.url);
      return 0;
    }
    const following = this.#rest.shift();
    if (following !== undefined) {
      this.url = following;
      return 0;
    }
    this.#beginCycle();
    this.#cyclesFailed += 1;
    const maxMs = outcome === 'brief' ? WAIT_AFTER_BRIEF_MAX_MS : WAIT_MAX_MS;
    return Math.min(this.#cyclesFailed * WAIT_STEP_MS, maxMs) * (0.5 + this.#random() / 2);
  }

  /** An unreachable address is reachable again: try it next, and reset the wait. */
  recovered(url: Url): void {
    this.#cyclesFailed = 0;
    this.#beginCycleAt(url);
  }

  #beginCycle(): void {
    const [first = this.#first] = this.#strategy === 'shuffle' ? shuffled(this.#urls, this.#random) : [];
    this.#beginCycleAt(first);
  }

  #beginCycleAt(first: Url): void {
    const at = this.#urls.indexOf(first);
    const others = [...this.#urls.slice(at + 1), ...this.#urls.slice(0, at)];
    this.url = this.#first = first;
    this.#rest = this.#strategy === 'shuffle' ? shuffled(others, this.#random) : others;
  }
}

/** A Fisher–Yates shuffle. */
function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const rest = [...items];
  const order: T[] = [];
  while (rest.length > 0) order.push(...rest.splice(Math.floor(random() * rest.length), 1));
  return order;
}
