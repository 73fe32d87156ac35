/**
 * Which address is tried next, and after how long: kombu's order. Pure: randomness is an argument, and it waits for
 * nothing itself.
 */
import type { FailoverStrategy } from './broker.ts';

/** kombu's interval_start and interval_step: 2 s after the first cycle of failures, 4 s after the second … */
const WAIT_STEP_MS = 2000;
/** kombu's interval_max. */
const WAIT_MAX_MS = 30_000;
/** After a session that came about: events are missed for as long, at a broker that seems to be well. */
const WAIT_AFTER_BRIEF_MAX_MS = 4000;

/** What became of an attempt, as far as the next one is concerned. */
export type AttemptOutcome =
  /** It never was ready. */
  | 'failed'
  /** It was ready, but broke before it delivered a message or had stood for a while. */
  | 'brief'
  /** It delivered, or stood for a while: whatever was wrong before is over. */
  | 'healthy';

/**
 * Tries the addresses in turn: on failure the next at once, until each had its turn; then a wait of 2, 4 … 30 s, up to
 * half of which is randomly left out so that many bridges do not return together; for ever. After a session that broke
 * the same address is next, at once. Only health makes the waits small again, a bare connect does not, but after
 * one they are 4 s at most.
 */
export class Failover<Url> {
  readonly #urls: readonly [Url, ...Url[]];
  readonly #strategy: FailoverStrategy;
  readonly #random: () => number;
  #url: Url;
  /** The first of the current cycle, and those of it that are still to be tried. */
  #first: Url;
  #rest: Url[] = [];
  #cyclesFailed = 0;
  #lastWasBrief = false;

  /** @param random in [0, 1). */
  constructor(urls: readonly [Url, ...Url[]], strategy: FailoverStrategy, random: () => number) {
    this.#urls = urls;
    this.#strategy = strategy;
    this.#random = random;
    this.#url = this.#first = urls[0];
    this.#beginCycle();
  }

  /** Where the next attempt goes. */
  get url(): Url {
    return this.#url;
  }

  /** Takes what became of the attempt at `url`, moves on, and returns the ms to wait before the next. */
  next(outcome: AttemptOutcome): number {
    // Brief sessions in a row are failures, else a broker that throws us out would be knocked at without a pause.
    const failed = outcome === 'failed' || (outcome === 'brief' && this.#lastWasBrief);
    this.#lastWasBrief = outcome === 'brief';
    if (outcome === 'healthy') this.#cyclesFailed = 0;
    if (!failed) {
      this.#beginCycleAt(this.#url);
      return 0;
    }
    const following = this.#rest.shift();
    if (following !== undefined) {
      this.#url = following;
      return 0;
    }
    this.#beginCycle();
    this.#cyclesFailed += 1;
    const maxMs = outcome === 'brief' ? WAIT_AFTER_BRIEF_MAX_MS : WAIT_MAX_MS;
    return Math.min(this.#cyclesFailed * WAIT_STEP_MS, maxMs) * (0.5 + this.#random() / 2);
  }

  /** An address that was dead listens again: it is next, and the waits start small again. */
  revived(url: Url): void {
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
    this.#url = this.#first = first;
    this.#rest = this.#strategy === 'shuffle' ? shuffled(others, this.#random) : others;
  }
}

/** Fisher and Yates: every order equally likely. */
function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const rest = [...items];
  const order: T[] = [];
  while (rest.length > 0) order.push(...rest.splice(Math.floor(random() * rest.length), 1));
  return order;
}
