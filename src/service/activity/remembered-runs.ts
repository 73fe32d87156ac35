/**
 * The last runs of one service that are over, with their ids, and the texts of the last failures of each task: for people who look
 * for a run. Arguments and results are never kept. Runs are kept in columns, since objects that live as long would cost the garbage
 * collector more time than all else. Pure and bounded; texts of failures are as they were reported, and must be redacted before
 * anybody sees them.
 */
import type { ErrorTexts } from '../../celery/event.ts';
import type { RunIdentity } from '../../cluster/observation.ts';
import type { Steps } from '../../cluster/steps.ts';
import { TaskKey } from '../../cluster/tasks/task-key.ts';
import { safeKey } from '../../text/safe-key.ts';
import type { FinishedOutcome, FinishedRun, RunPlace } from '../../tracer/ancestry/finished.ts';
import { IdColumn } from './id-column.ts';

/** For each run on average: of ids that are no uuids, and of names of errors. Longer ones make room for fewer runs. */
const CHARS_PER_RUN = 100;
/** Of each outcome and task. */
const FAILURES_PER_TASK = 5;
/** Of all failures together, in UTF-16 units. */
const FAILURE_CHARS_MAX = 4 * 1024 * 1024;
const RUNS_PER_STEP = 10_000;
/** As much as looking at so many. */
const READ_COSTS = 10;
/** Losses that are refuted come by the thousand, with the worker that was taken for dead. */
const CORRECTED_AMONG = 10_000;
const UNENDED: ReadonlySet<FinishedOutcome> = new Set(['lost', 'unknown']);
/** The columns of numbers; those that are not known are NaN. */
const NUMBERS = ['sentMs', 'receivedMs', 'startedMs', 'endedMs', 'waitTimeS', 'runtimeS'] as const;
/** The columns of small numbers; larger ones are cut to the largest. */
const PLACES = ['retries', 'delivery', 'parentRetries', 'parentDelivery'] as const;
const PLACE_MAX = 65_535;
const ROOM_AT_FIRST = 256;

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

/** What runs can be looked for by. */
export type SoughtBy = 'id' | 'rootId' | keyof RunIdentity;

export class RememberedRuns {
  readonly limit: number;
  /** The place of a run is its number modulo the limit. */
  readonly #ids = new IdColumn();
  readonly #rootIds = new IdColumn();
  readonly #parentIds = new IdColumn();
  readonly #runs: (RunIdentity | undefined)[] = [];
  readonly #outcomes: FinishedOutcome[] = [];
  readonly #errorTypes: string[] = [];
  #numbers = new Float64Array(0);
  #places = new Uint16Array(0);
  /** How many have room: few services have as many runs as they may. */
  #room = 0;
  readonly #key = new TaskKey();
  /** The number of the oldest run, and of the next one. */
  #from = 0;
  #next = 0;
  #errorChars = 0;
  /** By task; in the order in which they ended. */
  readonly #failuresOf = new Map<string, Failure[]>();
  readonly #failures = new Set<Failure>();
  #failureChars = 0;

  /** @param limit 0: none is remembered */
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

  /** A run that was remembered without its end has ended after all. It is looked for among the last ones. */
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
   * Looks through all that are remembered when it is called, the newest first.
   * @param visit called for the first ones, unless they are forgotten meanwhile
   * @param most how many are visited
   * @returns how many there are
   */
  *each(
    by: SoughtBy,
    sought: string,
    visit: (run: RememberedRun) => void,
    most = Number.POSITIVE_INFINITY,
  ): Steps<number> {
    const isSought = this.#isSought(by, sought);
    let found = 0;
    let left = RUNS_PER_STEP;
    for (let number = this.#next - 1; number >= this.#from; number -= 1) {
      left -= 1;
      if (isSought(number % this.limit)) {
        found += 1;
        const run = found > most ? undefined : this.#read(number);
        if (run !== undefined) {
          visit(run);
          left -= READ_COSTS;
        }
      }
      if (left > 0) continue;
      yield;
      left = RUNS_PER_STEP;
    }
    return found;
  }

  /** On how many runs of the task each queue and each worker is named. */
  *namesOf(task: string): Steps<Readonly<Record<'queue' | 'worker', ReadonlyMap<string, number>>>> {
    const names = { queue: new Map<string, number>(), worker: new Map<string, number>() };
    let left = RUNS_PER_STEP;
    for (let number = this.#next - 1; number >= this.#from; number -= 1) {
      const run = this.#runs[number % this.limit];
      if (run?.task === task)
        for (const key of ['queue', 'worker'] as const)
          names[key].set(run[key], (names[key].get(run[key]) ?? 0) + 1);
      left -= 1;
      if (left > 0) continue;
      yield;
      left = RUNS_PER_STEP;
    }
    return names;
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

  /** The fields are written one by one: this is done for each run. */
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

  /** Undefined if it is forgotten. */
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

/** Those without texts take room, too. */
function failureChars({ error: { path, message, stacktrace } }: Failure): number {
  return 256 + path.length + message.length + stacktrace.length;
}
