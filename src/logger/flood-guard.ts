/**
 * Limits log records: of one problem, and in all. Each record that is left out is counted once by its reason, and once more among
 * the suppressed ones, which a later record reports. It makes no records. Pure: the time is an argument.
 */
import { TokenBucket } from './token-bucket.ts';

const SAME_AT_ONCE = 10;
const SAME_EVERY_MS = 60_000;
const PER_SECOND = 100;
/** Beyond it the least recently seen problem is forgotten. */
const PROBLEMS_MAX = 1000;
/** A problem that was left out last so long ago is reported without a new one. */
const QUIET_MS = 60_000;

/** `repeated`: there were many of the same problem; `rate_limited`: there were many in all. */
export type LeftOutReason = 'repeated' | 'rate_limited';
export type LeftOut = Readonly<Record<LeftOutReason, number>>;

/** Which records are of the same kind, and what to report about suppressed ones. */
export interface Problem {
  /** Retries of a task must not hide its failure. */
  readonly eventName: string;
  readonly fingerprint: string;
  readonly task: string;
  readonly errorType: string;
}

/** Records that were left out and not reported before; those of forgotten problems, and of none, together. */
export interface Suppressed {
  readonly problem: Problem | undefined;
  readonly count: number;
  /** The highest of them. */
  readonly severity: number;
}

class Suppression {
  count = 0;
  severity = 0;
  lastMs = 0;

  add(count: number, severity: number, nowMs: number): void {
    this.count += count;
    this.severity = Math.max(this.severity, severity);
    this.lastMs = nowMs;
  }

  clear(): number {
    const { count } = this;
    this.count = this.severity = 0;
    return count;
  }
}

interface Known {
  readonly problem: Problem;
  readonly bucket: TokenBucket;
  readonly suppressed: Suppression;
}

export class FloodGuard {
  readonly #service = new TokenBucket(PER_SECOND, 1000 / PER_SECOND, 0);
  /** By event name and fingerprint, the least recently seen first. */
  readonly #problems = new Map<string, Known>();
  readonly #others = new Suppression();
  #othersSinceMs = 0;
  #leftOut: Record<LeftOutReason, number> = { repeated: 0, rate_limited: 0 };

  /** How many problems are known. */
  get size(): number {
    return this.#problems.size;
  }

  /** @returns how many of the problem were left out before this one; undefined: so is this one */
  admit(problem: Problem | undefined, severity: number, nowMs: number): number | undefined {
    const known = problem === undefined ? undefined : this.#use(problem, nowMs);
    if (known?.bucket.has(nowMs) === false) return this.#leave('repeated', known, severity, nowMs);
    if (!this.#service.has(nowMs)) return this.#leave('rate_limited', known, severity, nowMs);
    known?.bucket.take();
    this.#service.take();
    return known?.suppressed.clear() ?? 0;
  }

  /**
   * What was left out of problems that have become quiet, within the rate of all.
   * @param isLast everything, whatever the rate
   */
  takeQuiet(nowMs: number, isLast: boolean): readonly Suppressed[] {
    const taken: Suppressed[] = [];
    const take = (problem: Problem | undefined, suppressed: Suppression, sinceMs: number): void => {
      // Also if the clock was set back.
      const isDue = isLast || Math.abs(nowMs - sinceMs) >= QUIET_MS;
      if (suppressed.count === 0 || !isDue || !(this.#service.has(nowMs) || isLast)) return;
      if (!isLast) this.#service.take();
      const { severity } = suppressed;
      taken.push({ problem, count: suppressed.clear(), severity });
    };
    take(undefined, this.#others, this.#othersSinceMs);
    for (const { problem, suppressed } of this.#problems.values())
      take(problem, suppressed, suppressed.lastMs);
    return taken;
  }

  /** What was left out since the last call. */
  takeLeftOut(): LeftOut {
    const leftOut = this.#leftOut;
    this.#leftOut = { repeated: 0, rate_limited: 0 };
    return leftOut;
  }

  #use(problem: Problem, nowMs: number): Known {
    const key = `${problem.eventName} ${problem.fingerprint}`;
    const known = this.#problems.get(key) ?? {
      problem,
      bucket: new TokenBucket(SAME_AT_ONCE, SAME_EVERY_MS, nowMs),
      suppressed: new Suppression(),
    };
    this.#problems.delete(key);
    this.#problems.set(key, known);
    const [oldest] = this.#problems;
    if (oldest !== undefined && this.#problems.size > PROBLEMS_MAX) {
      const [oldestKey, { suppressed }] = oldest;
      this.#problems.delete(oldestKey);
      const { severity } = suppressed;
      this.#addToOthers(suppressed.clear(), severity, nowMs);
    }
    return known;
  }

  #leave(reason: LeftOutReason, known: Known | undefined, severity: number, nowMs: number): undefined {
    this.#leftOut[reason] += 1;
    if (known === undefined) this.#addToOthers(1, severity, nowMs);
    else known.suppressed.add(1, severity, nowMs);
  }

  #addToOthers(count: number, severity: number, nowMs: number): void {
    if (count === 0) return;
    if (this.#others.count === 0) this.#othersSinceMs = nowMs;
    this.#others.add(count, severity, nowMs);
  }
}
