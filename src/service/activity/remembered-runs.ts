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
/** Which are kept apart from the rest, since objects with fractions take twice the room. */
const NUMBERS = ['sentMs', 'receivedMs', 'startedMs', 'endedMs', 'waitTimeS', 'runtimeS'] as const;

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

/** What is kept of a run but its numbers. */
type Kept = Omit<RememberedRun, (typeof NUMBERS)[number] | 'parentPlace'> & {
  readonly parentRetries: number;
  readonly parentDelivery: number;
};

export class RememberedRuns {
  readonly limit: number;
  /** By its number modulo the limit. */
  readonly #runs: (Kept | undefined)[] = [];
  /** Of the same place; made with the first run. */
  #numbers = new Float64Array(0);
  /** The number of the oldest run, and of the next one. */
  #from = 0;
  #next = 0;
  /** The numbers of the runs of an id: usually one. */
  readonly #byId = new Map<string, number | number[]>();
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
    return this.#next - this.#from;
  }

  add(finished: FinishedRun): void {
    if (this.limit === 0) return;
    const run = rememberedOf(finished);
    if (this.size === this.limit) this.#forgetOldest();
    this.#keep(run);
    while (this.#chars > CHARS_PER_RUN * this.limit && this.size > 1) this.#forgetOldest();
    if (finished.error !== undefined) this.#addFailure({ of: run, error: finished.error });
  }

  /** The oldest first. */
  ofId(id: string): readonly RememberedRun[] {
    const known = this.#byId.get(safeKey(id)) ?? [];
    return (typeof known === 'number' ? [known] : known).flatMap((number) => this.#read(number) ?? []);
  }

  /**
   * Looks through all that are remembered when it is called, the newest first.
   * @param visit called for each that is wanted and is not forgotten meanwhile
   */
  *each(
    isWanted: (run: Pick<RememberedRun, 'id' | 'rootId' | 'run'>) => boolean,
    visit: (run: RememberedRun) => void,
  ): Steps {
    let left = RUNS_PER_STEP;
    for (let number = this.#next - 1; number >= this.#from; number -= 1) {
      const kept = this.#runs[number % this.limit];
      const run = kept !== undefined && isWanted(kept) ? this.#read(number) : undefined;
      if (run !== undefined) visit(run);
      left -= 1;
      if (left > 0) continue;
      yield;
      left = RUNS_PER_STEP;
    }
  }

  /** The newest first, and of each outcome some. */
  failuresOf(task: string): readonly Failure[] {
    return (this.#failuresOf.get(safeKey(task)) ?? []).toReversed();
  }

  /** The failure of a run, if it is one of the last ones of its task. */
  failureOf({ run, id, retries, delivery, endedMs }: RememberedRun): Failure | undefined {
    return this.#failuresOf
      .get(safeKey(run.task))
      ?.find(
        ({ of }) =>
          of.id === id && of.retries === retries && of.delivery === delivery && of.endedMs === endedMs,
      );
  }

  #keep({
    id,
    rootId,
    parentId,
    parentPlace,
    retries,
    delivery,
    run,
    outcome,
    errorType,
    ...numbers
  }: RememberedRun): void {
    const number = this.#next;
    const place = number % this.limit;
    this.#next += 1;
    const { retries: parentRetries, delivery: parentDelivery } = parentPlace;
    this.#runs[place] = {
      // One text where two are equal.
      ...{ id, rootId: rootId === id ? id : rootId, parentId: parentId === rootId ? rootId : parentId },
      ...{ retries, delivery, parentRetries, parentDelivery, run, outcome, errorType },
    };
    if (this.#numbers.length === 0) this.#numbers = new Float64Array(NUMBERS.length * this.limit);
    for (const [index, name] of NUMBERS.entries())
      this.#numbers[place * NUMBERS.length + index] = numbers[name] ?? Number.NaN;
    this.#chars += id.length + rootId.length + parentId.length + errorType.length;
    const key = safeKey(id);
    const others = this.#byId.get(key);
    if (others === undefined) this.#byId.set(key, number);
    else if (typeof others === 'number') this.#byId.set(key, [others, number]);
    else others.push(number);
  }

  /** Undefined if it is forgotten. */
  #read(number: number): RememberedRun | undefined {
    const kept = number < this.#from ? undefined : this.#runs[number % this.limit];
    if (kept === undefined) return undefined;
    const { parentRetries, parentDelivery, ...run } = kept;
    const numberOf = (name: (typeof NUMBERS)[number]): number | undefined => {
      const value = this.#numbers[(number % this.limit) * NUMBERS.length + NUMBERS.indexOf(name)];
      return value === undefined || Number.isNaN(value) ? undefined : value;
    };
    return {
      ...run,
      parentPlace: { retries: parentRetries, delivery: parentDelivery },
      ...{ sentMs: numberOf('sentMs'), receivedMs: numberOf('receivedMs'), startedMs: numberOf('startedMs') },
      ...{ endedMs: numberOf('endedMs'), waitTimeS: numberOf('waitTimeS'), runtimeS: numberOf('runtimeS') },
    };
  }

  #forgetOldest(): void {
    const place = this.#from % this.limit;
    const oldest = this.#runs[place];
    this.#runs[place] = undefined;
    this.#from += 1;
    if (oldest === undefined) return;
    const { id, rootId, parentId, errorType } = oldest;
    this.#chars -= id.length + rootId.length + parentId.length + errorType.length;
    const key = safeKey(id);
    const others = this.#byId.get(key);
    if (Array.isArray(others) && others.length > 1) others.shift();
    else this.#byId.delete(key);
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

/** Those without texts take room, too. */
function failureChars({ error: { path, message, stacktrace } }: Failure): number {
  return 256 + path.length + message.length + stacktrace.length;
}
