/**
 * The last runs of one service that are over, with their ids, and the texts of the last failures of each task: for people who look
 * for a run. Arguments and results are never kept. Pure and bounded; texts of failures are as they were reported, and must be
 * redacted before anybody sees them.
 */
import type { ErrorTexts } from '../../celery/event.ts';
import type { RunIdentity } from '../../cluster/observation.ts';
import type { Steps } from '../../cluster/steps.ts';
import { safeKey } from '../../text/safe-key.ts';
import type { FinishedOutcome, FinishedRun, RunPlace } from '../../tracer/ancestry/finished.ts';

/** Runs that are remembered unless an option sets another number. */
export const RUNS_MAX = 10_000;
/** For each run on average; longer ids, as few programs have them, make room for fewer runs. */
const CHARS_PER_RUN = 160;
/** Of each outcome and task. */
const FAILURES_PER_TASK = 5;
/** Of all failures together, in UTF-16 units. */
const FAILURE_CHARS_MAX = 4 * 1024 * 1024;
const RUNS_PER_STEP = 2000;

/** Times are epoch ms, durations seconds; undefined if unknown. */
export interface RememberedRun extends RunPlace {
  readonly id: string;
  readonly rootId: string;
  readonly parentId: string;
  /** Which run of the parent sent it. */
  readonly parentPlace: RunPlace;
  readonly run: RunIdentity;
  readonly outcome: FinishedOutcome;
  readonly errorType: string;
  readonly sentMs: number | undefined;
  readonly receivedMs: number | undefined;
  readonly startedMs: number | undefined;
  readonly endedMs: number | undefined;
  readonly waitTimeS: number | undefined;
  readonly runtimeS: number | undefined;
}

export interface Failure {
  readonly of: RememberedRun;
  readonly error: ErrorTexts;
}

export class RememberedRuns {
  readonly limit: number;
  /** By id: usually one. The map is in the order of the last ends, so its first is the oldest. */
  readonly #byId = new Map<string, RememberedRun[]>();
  /** In the order in which they ended; those before `#from` are forgotten. */
  #runs: (RememberedRun | undefined)[] = [];
  #from = 0;
  #chars = 0;
  /** By task; in the order in which they ended. */
  readonly #failuresOf = new Map<string, Failure[]>();
  readonly #failures = new Set<Failure>();
  #failureChars = 0;

  /** @param limit 0: none is remembered */
  constructor(limit: number = RUNS_MAX) {
    this.limit = limit;
  }

  get size(): number {
    return this.#runs.length - this.#from;
  }

  add(finished: FinishedRun): void {
    if (this.limit === 0) return;
    const run = rememberedOf(finished);
    this.#runs.push(run);
    this.#chars += charsOf(run);
    const key = safeKey(run.id);
    const others = this.#byId.get(key);
    if (others === undefined) this.#byId.set(key, [run]);
    else others.push(run);
    while (this.size > this.limit || (this.#chars > CHARS_PER_RUN * this.limit && this.size > 1))
      this.#forgetOldest();
    if (finished.error !== undefined) this.#addFailure({ of: run, error: finished.error });
  }

  /** The oldest first. */
  ofId(id: string): readonly RememberedRun[] {
    return this.#byId.get(safeKey(id)) ?? [];
  }

  /** Visits all that are remembered when it is called, the newest first. */
  *each(visit: (run: RememberedRun) => void): Steps {
    // Meanwhile runs are added and forgotten.
    const runs = this.#runs.slice(this.#from).reverse();
    for (const [index, run] of runs.entries()) {
      if (run !== undefined) visit(run);
      if (index % RUNS_PER_STEP === RUNS_PER_STEP - 1) yield;
    }
  }

  /** The newest first, and of each outcome some. */
  failuresOf(task: string): readonly Failure[] {
    return (this.#failuresOf.get(safeKey(task)) ?? []).toReversed();
  }

  /** The failure of a run, if it is one of the last ones of its task. */
  failureOf(run: RememberedRun): Failure | undefined {
    return this.#failuresOf.get(safeKey(run.run.task))?.find(({ of }) => of === run);
  }

  #forgetOldest(): void {
    const oldest = this.#runs[this.#from];
    this.#runs[this.#from] = undefined;
    this.#from += 1;
    // Half of the list is empty: what is left moves to the front, so that an end costs the same on average.
    if (this.#from > this.limit) {
      this.#runs = this.#runs.slice(this.#from);
      this.#from = 0;
    }
    if (oldest === undefined) return;
    this.#chars -= charsOf(oldest);
    const key = safeKey(oldest.id);
    const others = this.#byId.get(key);
    if (others === undefined) return;
    if (others.length === 1) this.#byId.delete(key);
    else others.shift();
  }

  #addFailure(failure: Failure): void {
    const { run, outcome } = failure.of;
    const key = safeKey(run.task);
    const ofTask = this.#failuresOf.get(key) ?? [];
    this.#failuresOf.set(key, ofTask);
    ofTask.push(failure);
    this.#failures.add(failure);
    this.#failureChars += failureChars(failure);
    const alike = ofTask.filter(({ of }) => of.outcome === outcome);
    if (alike.length > FAILURES_PER_TASK && alike[0] !== undefined) this.#forgetFailure(alike[0]);
    for (const oldest of this.#failures) {
      if (this.#failureChars <= FAILURE_CHARS_MAX) break;
      this.#forgetFailure(oldest);
    }
  }

  #forgetFailure(failure: Failure): void {
    this.#failures.delete(failure);
    this.#failureChars -= failureChars(failure);
    const key = safeKey(failure.of.run.task);
    const left = this.#failuresOf.get(key)?.filter((each) => each !== failure) ?? [];
    if (left.length === 0) this.#failuresOf.delete(key);
    else this.#failuresOf.set(key, left);
  }
}

function rememberedOf(it: FinishedRun): RememberedRun {
  const { uuid: id, rootId, parentId, parentPlace, retries, delivery, run, outcome, errorType } = it;
  const { sent, receivedMs, startedMs, endedMs, waitTimeS, runtimeS } = it;
  // A retry was not sent when the task was.
  const sentMs = retries === 0 ? sent?.sentMs : undefined;
  return {
    ...{ id, rootId, parentId, parentPlace, retries, delivery, run, outcome, errorType },
    ...{ sentMs, receivedMs, startedMs, endedMs, waitTimeS, runtimeS },
  };
}

function charsOf({ id, rootId, parentId, errorType }: RememberedRun): number {
  return id.length + rootId.length + parentId.length + errorType.length;
}

/** Those without texts take room, too. */
function failureChars({ error: { path, message, stacktrace } }: Failure): number {
  return 256 + path.length + message.length + stacktrace.length;
}
