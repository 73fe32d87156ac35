/**
 * Remembers the last finished runs of one service, with their ids, and the texts of the last failures of each task, so that people find
 * a run by its id. It never keeps arguments or results. Runs are stored in columns, because as many long-lived objects would keep the
 * garbage collector busy. Pure and bounded. Texts of failures are kept as reported: redact them before they are shown.
 */
import type { ErrorTexts } from '../../celery/event.ts';
import type { RunIdentity } from '../../cluster/observation.ts';
import type { Steps } from '../../cluster/steps.ts';
import { TaskKey } from '../../cluster/tasks/task-key.ts';
import { safeKey } from '../../text/safe-key.ts';
import type { FinishedOutcome, FinishedRun, RunPlace } from '../../tracer/ancestry/finished.ts';
import { IdColumn } from './id-column.ts';

/** UTF-16 units per run on average, for ids that are no UUIDs and for names of exceptions. Longer ones leave room for fewer runs. */
const CHARS_PER_RUN = 100;
/** How many failures are kept for each task and outcome. */
const FAILURES_PER_TASK = 5;
/** The texts of all failures together, in UTF-16 units. */
const FAILURE_CHARS_MAX = 4 * 1024 * 1024;
/** How many places a step compares. */
const PLACES_PER_STEP = 10_000;
/** Reading a run takes as long as comparing this many places. */
const READ_COST = 10;
/** How many of the newest runs are searched for one to correct: thousands may be corrected at once, when a silent worker returns. */
const CORRECTED_AMONG = 10_000;
/** The outcomes that a later event can correct. */
const UNENDED: ReadonlySet<FinishedOutcome> = new Set(['lost', 'redelivered', 'unknown']);
/** The columns of times and durations; NaN if unknown. */
const NUMBERS = ['sentMs', 'receivedMs', 'startedMs', 'endedMs', 'waitTimeS', 'runtimeS'] as const;
/** The columns of small counts; higher ones are stored as `PLACE_MAX`. */
const PLACES = ['retries', 'delivery', 'parentRetries', 'parentDelivery'] as const;
const PLACE_MAX = 65_535;
/** How many runs the columns have room for at first. */
const ROOM_AT_FIRST = 256;

/** Times are epoch ms, durations seconds; undefined if unknown. */
export interface RememberedRun extends RunPlace {
  readonly id: string;
  readonly rootId: string;
  readonly parentId: string;
  /** The run of the parent that sent it: its retries and deliveries. */
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

/** The columns by which runs are found. */
export type SoughtBy = 'id' | 'rootId' | keyof RunIdentity;

export class RememberedRuns {
  readonly limit: number;
  // Runs are numbered from 0 on. Run N is at place N % limit of each column.
  readonly #ids = new IdColumn();
  readonly #rootIds = new IdColumn();
  readonly #parentIds = new IdColumn();
  readonly #runs: (RunIdentity | undefined)[] = [];
  readonly #outcomes: FinishedOutcome[] = [];
  readonly #errorTypes: string[] = [];
  #numbers = new Float64Array(0);
  #places = new Uint16Array(0);
  /** How many runs the columns have room for; they grow, since few services reach their limit. */
  #room = 0;
  readonly #key = new TaskKey();
  /** The numbers of the oldest remembered run, and of the run that is added next. */
  #from = 0;
  #next = 0;
  #errorChars = 0;
  /** By the key of the task, the oldest first. */
  readonly #failuresOf = new Map<string, Failure[]>();
  /** Those of all tasks, the oldest first. */
  readonly #failures = new Set<Failure>();
  #failureChars = 0;

  /** @param limit how many runs are remembered; 0: none */
  constructor(limit: number) {
    this.limit = limit;
  }

  get size(): number {
    return this.#next - this.#from;
  }

  add(finished: FinishedRun): void {
    if (this.limit === 0) return;
    if (this.size === this.limit) this.#forgetOldest();
    const number = this.#next;
    this.#next += 1;
    if (number % this.limit >= this.#room) this.#grow();
    this.#write(number % this.limit, finished);
    while (this.#chars() > CHARS_PER_RUN * this.limit && this.size > 1) this.#forgetOldest();
    this.#noteFailure(number, finished);
  }

  /** Corrects a run that was remembered as `lost` or `unknown` and has ended after all, if it is among the newest runs. */
  correct(finished: FinishedRun): void {
    const { uuid, retries, delivery } = finished;
    const isId = this.#isSought('id', uuid);
    const last = Math.max(this.#from, this.#next - CORRECTED_AMONG);
    for (let number = this.#next - 1; number >= last; number -= 1) {
      if (!isId(number % this.limit)) continue;
      const run = this.#read(number);
      if (run === undefined || !UNENDED.has(run.outcome)) continue;
      if (run.retries !== retries || run.delivery !== Math.min(delivery, PLACE_MAX)) continue;
      this.#clear(number % this.limit);
      this.#write(number % this.limit, finished);
      this.#noteFailure(number, finished);
      return;
    }
  }

  /**
   * Reads all runs that are remembered when it is called, the newest first.
   * @param visit called for the first `most` runs that match, except those that are forgotten in the meantime
   * @returns how many match
   */
  *each(
    by: SoughtBy,
    sought: string,
    visit: (run: RememberedRun) => void,
    most = Number.POSITIVE_INFINITY,
  ): Steps<number> {
    const isSought = this.#isSought(by, sought);
    let found = 0;
    yield* this.#newestFirst((place, number) => {
      if (!isSought(place)) return 1;
      found += 1;
      const run = found > most ? undefined : this.#read(number);
      if (run === undefined) return 1;
      visit(run);
      return READ_COST;
    });
    return found;
  }

  /** How many runs of the task name each queue and each worker. */
  *namesOf(task: string): Steps<Readonly<Record<'queue' | 'worker', ReadonlyMap<string, number>>>> {
    const names = { queue: new Map<string, number>(), worker: new Map<string, number>() };
    yield* this.#newestFirst((place) => {
      const run = this.#runs[place];
      if (run?.task === task)
        for (const key of ['queue', 'worker'] as const)
          names[key].set(run[key], (names[key].get(run[key]) ?? 0) + 1);
      return 1;
    });
    return names;
  }

  /** @param look returns what it cost, in places that are only compared */
  *#newestFirst(look: (place: number, number: number) => number): Steps<void> {
    let left = PLACES_PER_STEP;
    for (let number = this.#next - 1; number >= this.#from; number -= 1) {
      left -= look(number % this.limit, number);
      if (left > 0) continue;
      yield;
      left = PLACES_PER_STEP;
    }
  }

  /** The last failures of the task, the newest first: up to `FAILURES_PER_TASK` of each outcome. */
  failuresOf(task: string): readonly Failure[] {
    return (this.#failuresOf.get(safeKey(task)) ?? []).toReversed();
  }

  /** The texts of the run’s failure; undefined if it is none of the last failures of its task. */
  failureOf({ run, id, retries, delivery, endedMs }: RememberedRun): Failure | undefined {
    return this.#failuresOf
      .get(safeKey(run.task))
      ?.find(
        ({ of }) =>
          of.id === id && of.retries === retries && of.delivery === delivery && of.endedMs === endedMs,
      );
  }

  #noteFailure(number: number, { error }: FinishedRun): void {
    const of = error === undefined ? undefined : this.#read(number);
    if (of !== undefined && error !== undefined) this.#addFailure({ of, error });
  }

  #grow(): void {
    this.#room = Math.min(this.limit, Math.max(ROOM_AT_FIRST, 2 * this.#room));
    for (const ids of [this.#ids, this.#rootIds, this.#parentIds]) ids.grow(this.#room);
    const numbers = new Float64Array(NUMBERS.length * this.#room);
    numbers.set(this.#numbers);
    this.#numbers = numbers;
    const places = new Uint16Array(PLACES.length * this.#room);
    places.set(this.#places);
    this.#places = places;
  }

  #isSought(by: SoughtBy, sought: string): (place: number) => boolean {
    if (by === 'id' || by === 'rootId') {
      const ids = by === 'id' ? this.#ids : this.#rootIds;
      const key = new TaskKey().of(sought);
      return (place) => ids.is(place, key);
    }
    return (place) => this.#runs[place]?.[by] === sought;
  }

  /** Writes the fields one by one, without an object in between: it is called for each run. */
  #write(place: number, it: FinishedRun): void {
    const { uuid, rootId, parentId, errorType, retries, parentPlace } = it;
    this.#ids.set(place, this.#key.of(uuid));
    this.#rootIds.set(place, rootId === uuid ? this.#key : this.#key.of(rootId));
    this.#parentIds.set(place, parentId === rootId ? this.#key : this.#key.of(parentId));
    this.#runs[place] = it.run;
    this.#outcomes[place] = it.outcome;
    this.#errorTypes[place] = errorType;
    this.#errorChars += errorType.length;
    const numbers = place * NUMBERS.length;
    // A retry was not sent when the task was.
    this.#numbers[numbers] = (retries === 0 ? it.sent?.sentMs : undefined) ?? Number.NaN;
    this.#numbers[numbers + 1] = it.receivedMs ?? Number.NaN;
    this.#numbers[numbers + 2] = it.startedMs ?? Number.NaN;
    this.#numbers[numbers + 3] = it.endedMs ?? Number.NaN;
    this.#numbers[numbers + 4] = it.waitTimeS ?? Number.NaN;
    this.#numbers[numbers + 5] = it.runtimeS ?? Number.NaN;
    const places = place * PLACES.length;
    this.#places[places] = Math.min(retries, PLACE_MAX);
    this.#places[places + 1] = Math.min(it.delivery, PLACE_MAX);
    this.#places[places + 2] = Math.min(parentPlace.retries, PLACE_MAX);
    this.#places[places + 3] = Math.min(parentPlace.delivery, PLACE_MAX);
  }

  /** @returns undefined if the run is forgotten */
  #read(number: number): RememberedRun | undefined {
    const place = number % this.limit;
    const run = number < this.#from ? undefined : this.#runs[place];
    if (run === undefined) return undefined;
    const numberOf = (name: (typeof NUMBERS)[number]): number | undefined => {
      const value = this.#numbers[place * NUMBERS.length + NUMBERS.indexOf(name)];
      return value === undefined || Number.isNaN(value) ? undefined : value;
    };
    const placeOf = (name: (typeof PLACES)[number]): number =>
      this.#places[place * PLACES.length + PLACES.indexOf(name)] ?? 0;
    return {
      ...{ id: this.#ids.get(place), rootId: this.#rootIds.get(place), parentId: this.#parentIds.get(place) },
      parentPlace: { retries: placeOf('parentRetries'), delivery: placeOf('parentDelivery') },
      ...{ run, outcome: this.#outcomes[place] ?? 'unknown', errorType: this.#errorTypes[place] ?? '' },
      ...{ retries: placeOf('retries'), delivery: placeOf('delivery') },
      ...{ sentMs: numberOf('sentMs'), receivedMs: numberOf('receivedMs'), startedMs: numberOf('startedMs') },
      ...{ endedMs: numberOf('endedMs'), waitTimeS: numberOf('waitTimeS'), runtimeS: numberOf('runtimeS') },
    };
  }

  #chars(): number {
    return this.#ids.chars + this.#rootIds.chars + this.#parentIds.chars + this.#errorChars;
  }

  #forgetOldest(): void {
    this.#clear(this.#from % this.limit);
    this.#from += 1;
  }

  #clear(place: number): void {
    for (const ids of [this.#ids, this.#rootIds, this.#parentIds]) ids.clear(place);
    this.#errorChars -= this.#errorTypes[place]?.length ?? 0;
    this.#errorTypes[place] = '';
    this.#runs[place] = undefined;
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

/** The size of a failure in UTF-16 units, with its objects. */
function failureChars({ error: { path, message, stacktrace } }: Failure): number {
  return 256 + path.length + message.length + stacktrace.length;
}
