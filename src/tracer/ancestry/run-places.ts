/**
 * Numbers the runs of each task: by the number of earlier retries, and the number of earlier deliveries with the same
 * retries. Celery reports the number of retries with each receipt, so retries are known even after a restart of the bridge;
 * deliveries then start at 0. It keeps numbers by place in the task table, and no runs.
 */
import type { Lineage } from '../../celery/event.ts';
import { hashOf } from '../../cluster/tasks/task-key.ts';
import type { RunPlace } from './finished.ts';

/** A `RunPlace` and its link to the next run, packed into one number because a hundred thousand are kept. */
export type Placed = number;
export type Link = 'retry_of' | 'redelivery_of' | 'replaces';

export const NO_PLACE: Placed = Number.NaN;
export const FIRST_PLACE: Placed = 0;
const LINKS: readonly Link[] = ['redelivery_of', 'retry_of', 'replaces'];
const DELIVERIES = 4096;

function placed(retries: number, delivery: number, link: Link = 'redelivery_of'): Placed {
  return (retries * DELIVERIES + Math.min(delivery, DELIVERIES - 1)) * LINKS.length + LINKS.indexOf(link);
}

export function placeOf(place: Placed): RunPlace {
  const both = Math.floor(place / LINKS.length);
  return { retries: Math.floor(both / DELIVERIES), delivery: both % DELIVERIES };
}

export function linkOf(place: Placed): (RunPlace & { readonly link: Link }) | undefined {
  const link = LINKS[place % LINKS.length];
  return link && { ...placeOf(place), link };
}

/** The place of a run that begins. */
export interface Begun {
  readonly place: Placed;
  /** `NO_PLACE` if there is none. */
  readonly previous: Placed;
  /** The first run of the task in this workflow, if its id was sent earlier in another one. */
  readonly first: Placed | undefined;
}

interface Beginning {
  /** Undefined if no event reported it: then the run counts as the next one. */
  readonly retries: number | undefined;
  readonly isReplacement: boolean;
  readonly isSentAnew: boolean;
  /** Whether it is the run before the last known one: only its end was received. */
  readonly isBefore: boolean;
}

/** The last run of a task in 32 bits: its place, and these marks. */
const HAS_RUN = 1;
const WAS_RETRIED = 2;
const WAS_REPORTED = 4;
/** A run before the first known one was found. */
const HAS_EARLIER = 8;
const MARKS = 15;
const DELIVERY_SHIFT = 4;
const RETRIES_SHIFT = 16;
const RETRIES_MAX = 65_535;
const AT_FIRST = 1024;
/** How many numbers of retries are remembered separately per task. */
const COUNTED_MAX = 8;
/** A task whose deliveries are counted separately. */
const COUNTS_BYTES = 350;
const FIRST_BYTES = 50;

/** For a task that went back to fewer retries: redelivered or replaced. */
interface Counts {
  /** The highest number of retries so far. */
  highest: number;
  /** Number of deliveries, by number of retries. */
  readonly deliveries: Map<number, number>;
}

/** A run that is not the first one of its task. */
interface Repeat {
  readonly place: Placed;
  /** The place of the run before it. */
  readonly before: Placed;
  /** By the clock of its worker, epoch ms; infinity until it starts. */
  startedMs: number;
}

/** How many repeats are remembered per task: the last ones. */
const REPEATS_MAX = 8;
const REPEATS_BYTES = 120;
const REPEAT_BYTES = 60;
/** By how much the start of a run may be stamped late, ms: another process of the worker stamps it than runs the task. */
const STARTED_LATE_MS = 50;

const NOT_KNOWN = 0;

export class RunPlaces {
  #lasts = new Uint32Array(AT_FIRST);
  /** Per task: the hash of the id of its nearest ancestor that has no run. */
  #unseen = new Uint32Array(AT_FIRST);
  /** Only for tasks that were delivered more than once with the same number of retries. */
  readonly #counts = new Map<number, Counts>();
  /** The first places of tasks that were sent again in another workflow. */
  readonly #firsts = new Map<number, Placed>();
  /** The repeated runs of tasks, oldest first. */
  readonly #repeats = new Map<number, Repeat[]>();
  #repeatsSize = 0;

  get bytes(): number {
    return (
      this.#repeats.size * REPEATS_BYTES +
      this.#repeatsSize * REPEAT_BYTES +
      this.#lasts.byteLength +
      this.#unseen.byteLength +
      this.#counts.size * COUNTS_BYTES +
      this.#firsts.size * FIRST_BYTES
    );
  }

  /**
   * A run of the task begins.
   * @param at the place of the task in its table
   */
  begin(at: number, { retries, isReplacement, isSentAnew, isBefore }: Beginning): Begun {
    const last = this.#last(at);
    const before = lastPlace(last);
    const hasRun = (last & HAS_RUN) !== 0;
    if (isBefore && before.retries > 0 && (last & HAS_EARLIER) === 0) {
      this.#set(at, last | HAS_EARLIER);
      return { place: placed(before.retries - 1, 0), previous: NO_PLACE, first: undefined };
    }
    const nextRetries = before.retries + ((last & WAS_RETRIED) === 0 ? 0 : 1);
    const own = Math.min(retries ?? (hasRun ? nextRetries : 0), RETRIES_MAX);
    const delivery = hasRun ? this.#delivered(at, before, own) : isReplacement ? 1 : 0;
    if (delivery > 0 || (hasRun && own < before.retries)) this.#count(at, before, own, delivery);
    const marks = HAS_RUN | (isReplacement ? 0 : last & WAS_REPORTED) | (hasRun ? HAS_EARLIER : 0);
    this.#set(
      at,
      ((own << RETRIES_SHIFT) | (Math.min(delivery, DELIVERIES - 1) << DELIVERY_SHIFT) | marks) >>> 0,
    );
    const link = isReplacement ? 'replaces' : own > before.retries ? 'retry_of' : 'redelivery_of';
    // A retry without a known earlier run: that run was missed.
    const missed = own > 0 ? placed(own - 1, 0, 'retry_of') : NO_PLACE;
    const previous = hasRun || isReplacement ? placed(before.retries, before.delivery, link) : missed;
    const place = placed(own, delivery);
    if (hasRun) {
      const startedMs = Number.POSITIVE_INFINITY;
      this.#noteRepeat(at, { place, before: placed(before.retries, before.delivery), startedMs });
    }
    if (isSentAnew) this.#firsts.set(at, place);
    const first = this.#firsts.size === 0 ? undefined : this.#firsts.get(at);
    return { place, previous: isSentAnew ? NO_PLACE : previous, first };
  }

  /**
   * Records the parent of a task before its run begins.
   * @param parentAt the place of the parent in the task table, if it is there
   * @returns whether the parent is a missed run of the task itself: a task may be replaced by another task, or by a chain,
   * chord or group whose last task has the same id
   */
  noteParent(at: number, parentAt: number | undefined, of: Lineage | undefined, uuid: () => string): boolean {
    const isSeen = parentAt !== undefined && (this.#last(parentAt) & HAS_RUN) !== 0;
    const { parentId = '' } = of ?? {};
    const parent = isSeen ? (this.#unseen[parentAt] ?? NOT_KNOWN) : idHash(parentId);
    const above = parentId === '' ? NOT_KNOWN : parent;
    const isItself = above !== NOT_KNOWN && above === idHash(uuid());
    if (above !== NOT_KNOWN) this.#unseen = longEnough(this.#unseen, at);
    if (at < this.#unseen.length) this.#unseen[at] = isItself ? NOT_KNOWN : above;
    return isItself;
  }

  /** Whether the id of the task was used before, in another workflow. */
  isSentAnew(at: number): boolean {
    return this.#firsts.has(at);
  }

  /** The place of the task’s last run; that of a first run if none is known. */
  lastOf(at: number): Placed {
    const { retries, delivery } = lastPlace(this.#last(at));
    return placed(retries, delivery);
  }

  /** Records when the run at this place started. @param startedMs epoch ms */
  started(at: number, place: Placed, startedMs: number): void {
    const repeat =
      this.#repeats.size === 0 ? undefined : this.#repeats.get(at)?.find((one) => one.place === place);
    if (repeat !== undefined) repeat.startedMs = startedMs;
  }

  /** The place of the run that sent a task at this time: the last one that had started. @param sentMs epoch ms; undefined if unknown */
  senderOf(at: number, sentMs: number | undefined): Placed {
    const repeats = this.#repeats.size === 0 ? undefined : this.#repeats.get(at);
    if (repeats === undefined || sentMs === undefined) return this.lastOf(at);
    const started = repeats.findLast(({ startedMs }) => startedMs - STARTED_LATE_MS <= sentMs);
    return started?.place ?? repeats[0]?.before ?? this.lastOf(at);
  }

  /** Records that the run at this place was reported. @param isNamedAlike whether it has the name of the last run */
  reported(at: number, place: Placed, wasRetried: boolean, isNamedAlike: boolean): void {
    const isLast = place === this.lastOf(at);
    const reported = isLast || isNamedAlike ? WAS_REPORTED : 0;
    this.#set(at, this.#last(at) | reported | (isLast && wasRetried ? WAS_RETRIED : 0));
  }

  /** Whether a run was reported under the name of the last one. */
  wasReported(at: number): boolean {
    return (this.#last(at) & WAS_REPORTED) !== 0;
  }

  forget(at: number): void {
    if (at < this.#lasts.length) this.#lasts[at] = 0;
    if (at < this.#unseen.length) this.#unseen[at] = NOT_KNOWN;
    if (this.#counts.size > 0) this.#counts.delete(at);
    this.#repeatsSize -= this.#repeats.get(at)?.length ?? 0;
    this.#repeats.delete(at);
    if (this.#firsts.size > 0) this.#firsts.delete(at);
  }

  /** Number of earlier deliveries with these retries: at least one for each number below the highest. */
  #delivered(at: number, last: RunPlace, retries: number): number {
    if (retries === last.retries) return last.delivery + 1;
    const counts = this.#counts.size === 0 ? undefined : this.#counts.get(at);
    const highest = Math.max(last.retries, counts?.highest ?? 0);
    return counts?.deliveries.get(retries) ?? (retries <= highest ? 1 : 0);
  }

  #count(at: number, last: RunPlace, retries: number, delivery: number): void {
    const counts = this.#counts.get(at) ?? { highest: 0, deliveries: new Map<number, number>() };
    const { deliveries } = counts;
    counts.highest = Math.max(counts.highest, last.retries);
    deliveries.set(last.retries, last.delivery + 1).set(retries, delivery + 1);
    const [oldest] = deliveries.keys();
    if (deliveries.size > COUNTED_MAX && oldest !== undefined) deliveries.delete(oldest);
    this.#counts.set(at, counts);
  }

  #noteRepeat(at: number, repeat: Repeat): void {
    const repeats = this.#repeats.get(at) ?? [];
    repeats.push(repeat);
    this.#repeatsSize += 1;
    if (repeats.length > REPEATS_MAX) {
      repeats.shift();
      this.#repeatsSize -= 1;
    }
    this.#repeats.set(at, repeats);
  }

  #last(at: number): number {
    return this.#lasts[at] ?? 0;
  }

  #set(at: number, last: number): void {
    this.#lasts = longEnough(this.#lasts, at);
    this.#lasts[at] = last;
  }
}

/** Never `NOT_KNOWN`. */
function idHash(id: string): number {
  return Math.max(hashOf(id) >>> 0, NOT_KNOWN + 1);
}

function longEnough(numbers: Uint32Array<ArrayBuffer>, at: number): Uint32Array<ArrayBuffer> {
  if (at < numbers.length) return numbers;
  const longer = new Uint32Array(Math.max(at + 1, 2 * numbers.length));
  longer.set(numbers);
  return longer;
}

function lastPlace(last: number): RunPlace {
  const delivery = ((last & ~MARKS) >>> DELIVERY_SHIFT) & (DELIVERIES - 1);
  return { retries: last >>> RETRIES_SHIFT, delivery };
}
