/**
 * Limits the rate of log records, per problem and in total. It counts each suppressed record twice: by reason, and per problem,
 * for a later record to report. It makes no records. Pure: the time is an argument.
 */
import { TokenBucket } from './token-bucket.ts';

/** Records of one problem: so many at once, then one per interval. */
const SAME_AT_ONCE = 10;
const SAME_EVERY_MS = 60_000;
const PER_SECOND = 100;
/** If there are more, the least recently seen problem is forgotten. */
const PROBLEMS_MAX = 1000;
/** After so long without another suppressed record, the suppressed ones are reported in a record of their own. */
const QUIET_MS = 60_000;

/** Why a record was suppressed. `repeated`: too many of the same problem; `rate_limited`: too many in total. */
export type LeftOutReason = 'repeated' | 'rate_limited';
export type LeftOut = Readonly<Record<LeftOutReason, number>>;

/** Groups records by event name and fingerprint; the other fields are reported with the number of suppressed records. */
export interface Problem {
  /** Part of the group, so that the retries of a task do not suppress its failure. */
  readonly eventName: string;
  readonly fingerprint: string;
  readonly task: string;
  readonly errorType: string;
}

/** Suppressed records that were not reported yet. */
export interface Suppressed {
  /** Undefined for records of forgotten problems and records without a problem, which are counted together. */
  readonly problem: Problem | undefined;
  readonly count: number;
  /** The highest severity of these records. */
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

  /** @returns how many records of the problem were suppressed before this one; undefined if this one is suppressed too */
  admit(problem: Problem | undefined, severity: number, nowMs: number): number | undefined {
    const known = problem === undefined ? undefined : this.#use(problem, nowMs);
    if (known?.bucket.has(nowMs) === false) return this.#leave('repeated', known, severity, nowMs);
    if (!this.#service.has(nowMs)) return this.#leave('rate_limited', known, severity, nowMs);
    known?.bucket.take();
    this.#service.take();
    return known?.suppressed.clear() ?? 0;
  }

  /**
   * The suppressed records of problems that have become quiet, as many problems as the total rate allows.
   * @param isLast returns those of all problems, whatever the rate
   */
  takeQuiet(nowMs: number, isLast: boolean): readonly Suppressed[] {
    const taken: Suppressed[] = [];
    const take = (problem: Problem | undefined, suppressed: Suppression, sinceMs: number): void => {
      // `abs`, so that a clock that was set back does not delay the report.
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

  /** How many records were suppressed since the last call, by reason. */
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
