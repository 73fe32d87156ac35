/**
 * Which sent tasks can still wait in the broker: per queue the newest ones, as many as a poll found there. Sendings
 * between two polls form a cohort, which is given up as a whole. It does not walk over tasks, and knows no workers.
 */
import type { QueueDepth } from '../../broker/broker-reading.ts';
import { safeKey } from '../../text/safe-key.ts';
import type { Moment } from '../moment.ts';
import { hasPassed, LATE_EVENTS_MS } from '../window/lateness.ts';

/** Queues with sent tasks; beyond this number, tasks wait as if there were no polls. */
const QUEUES_MAX = 2000;
/** Per queue; beyond it two neighbours are merged. Each has at least one sending, so that the task table bounds all of them. */
const COHORTS_MAX = 64;

/** How many messages a queue held at a time, in listened time, ms. */
interface Poll {
  readonly atMs: number;
  readonly length: number;
}

interface Sent {
  readonly queue: string;
  /** The broker delays it until its ETA. */
  readonly delayed: boolean;
  readonly plausibleDueMs: number | undefined;
  cohort: Cohort | undefined;
}

/** Sendings of one queue that arrived one after another, with no poll between them. */
export class Cohort {
  readonly #queue: SentToQueue;
  /** Sendings that no worker has received. */
  count = 0;
  /** When the last one arrived, in listened time, ms. */
  lastMs = 0;
  /** The first of consecutive polls that found too few messages to include any of these, in listened time, ms. */
  #beyondMs: number | undefined;
  /** None of its sendings waits in the broker. */
  #isGone = false;
  /** The merged cohort, which stands for both. */
  joined: Cohort | undefined;

  constructor(queue: SentToQueue) {
    this.#queue = queue;
  }

  /** The cohort that it was merged into. */
  get present(): Cohort {
    let cohort: Cohort = this;
    while (cohort.joined !== undefined) cohort = cohort.joined;
    return cohort;
  }

  get isGone(): boolean {
    return this.present.#isGone;
  }

  /**
   * A poll found too few messages to include any of these. Once is not enough: a message may still be on its way to its
   * queue, and the receipt of another on its way to us.
   */
  beyond(atMs: number): void {
    this.#beyondMs ??= atMs;
    if (hasPassed(LATE_EVENTS_MS, this.#beyondMs, atMs)) this.#isGone = true;
  }

  /** They may be among the messages. */
  within(): void {
    this.#beyondMs = undefined;
  }

  /** The next newer cohort joins it, which is at least as likely to be among the messages. */
  join(newer: Cohort): void {
    this.count += newer.count;
    this.lastMs = newer.lastMs;
    this.#beyondMs = newer.#beyondMs;
    newer.joined = this;
  }

  /** One of its sendings no longer waits. @param isReceived whether a worker has it; otherwise it was forgotten */
  leave(isReceived: boolean): void {
    this.present.count -= 1;
    if (isReceived && this.isGone) this.#queue.isOutOfOrder();
  }
}

class SentToQueue {
  /** The oldest first. */
  #cohorts: Cohort[] = [];
  /** A poll has begun since the last sending. */
  #isClosed = true;
  /** Messages may be consumed out of order: a poll is evaluated only after everything that was in transit has arrived. */
  #hasPriorities = false;
  #unjudged: Poll | undefined;
  /** When a task was sent to it, in listened time, ms. */
  #lastMs = Number.NEGATIVE_INFINITY;

  /** It has no sendings, and no poll result, or nothing was sent to it since. */
  isForgettable(sinceMs: number): boolean {
    return this.#cohorts.length === 0 && (!this.#hasPriorities || this.#lastMs < sinceMs);
  }

  add(listenedMs: number): Cohort {
    const open = this.#isClosed ? undefined : this.#cohorts.at(-1);
    const cohort = open ?? new Cohort(this);
    if (open === undefined) this.#append(cohort);
    cohort.count += 1;
    cohort.lastMs = this.#lastMs = listenedMs;
    return cohort;
  }

  close(): void {
    this.#isClosed = true;
  }

  polled(poll: Poll, hasPriorities: boolean): void {
    this.close();
    this.forgetEmpty();
    if (hasPriorities) this.isOutOfOrder();
    if (!this.#hasPriorities) this.#judge(poll);
    else if (this.#unjudged === undefined) this.#unjudged = poll;
    else if (hasPassed(LATE_EVENTS_MS, this.#unjudged.atMs, poll.atMs)) {
      this.#judge(this.#unjudged);
      this.#unjudged = poll;
    }
  }

  isOutOfOrder(): void {
    if (this.#hasPriorities) return;
    this.#hasPriorities = true;
    for (const cohort of this.#cohorts) cohort.within();
  }

  /** Cohorts that were given up are kept as long as their tasks are remembered, since one of these may still be received. */
  forgetEmpty(): void {
    const newest = this.#cohorts.at(-1);
    this.#cohorts = this.#cohorts.filter(({ count }) => count > 0);
    if (this.#cohorts.at(-1) !== newest) this.#isClosed = true;
  }

  #judge({ atMs, length }: Poll): void {
    let newer = 0;
    for (const cohort of this.#cohorts.toReversed()) {
      if (cohort.lastMs >= atMs) continue;
      if (newer >= length) cohort.beyond(atMs);
      else cohort.within();
      newer += cohort.count;
    }
  }

  #append(cohort: Cohort): void {
    this.#isClosed = false;
    this.#cohorts.push(cohort);
    if (this.#cohorts.length <= COHORTS_MAX) return;
    this.#cohorts = this.#cohorts.filter((each) => each.count > 0 || each === cohort);
    if (this.#cohorts.length > COHORTS_MAX) this.#joinTwo();
  }

  /** Merge the two smallest neighbours, so that a large cohort can lose its oldest sendings. */
  #joinTwo(): void {
    let [at, least] = [0, Number.POSITIVE_INFINITY];
    for (const [index, { count, isGone }] of this.#cohorts.slice(0, -2).entries()) {
      const next = this.#cohorts[index + 1];
      const both = count + (next?.count ?? 0);
      if (both < least && isGone === next?.isGone) [at, least] = [index, both];
    }
    const [older, newer] = this.#cohorts.slice(at, at + 2);
    if (older === undefined || newer === undefined) return;
    older.join(newer);
    this.#cohorts.splice(at + 1, 1);
  }
}

export class Cohorts {
  readonly #byKey = new Map<string, SentToQueue>();
  /** Consecutive sendings mostly go to the same queue. */
  #last: { readonly queue: string; readonly sent: SentToQueue } | undefined;

  /** A sending that the broker delayed is in its queue by now. */
  reach(sending: Sent, { wallMs, listenedMs }: Moment): void {
    const { queue, delayed, plausibleDueMs, cohort } = sending;
    if (!delayed || cohort !== undefined || plausibleDueMs === undefined) return;
    if (hasPassed(LATE_EVENTS_MS, plausibleDueMs, wallMs)) sending.cohort = this.add(queue, listenedMs);
  }

  /** A task was sent to the queue, or reaches it now. @returns undefined if its queue is unknown, or there is no room */
  add(queue: string, listenedMs: number): Cohort | undefined {
    if (queue === '') return undefined;
    if (this.#last?.queue !== queue) {
      const sent = this.#find(queue);
      if (sent === undefined) return undefined;
      this.#last = { queue, sent };
    }
    return this.#last.sent.add(listenedMs);
  }

  /** A poll begins. */
  close(): void {
    for (const sent of this.#byKey.values()) sent.close();
  }

  /** The broker reported these queues. @param atMs when the poll began, in listened time: later sendings may be missing */
  polled(depths: readonly QueueDepth[], atMs: number): void {
    for (const { queue, length, byPriority = [] } of depths) {
      const hasPriorities = byPriority.some(([priority, count]) => priority > 0 && count > 0);
      this.#byKey.get(safeKey(queue))?.polled({ atMs, length }, hasPriorities);
    }
  }

  /** Forgets queues without sendings. @param sinceMs the poll result of a queue is kept if a task was sent to it since then */
  forgetIdle(sinceMs: number): void {
    for (const [key, sent] of this.#byKey) {
      sent.forgetEmpty();
      if (sent.isForgettable(sinceMs)) this.#byKey.delete(key);
    }
    this.#last = undefined;
  }

  #find(queue: string): SentToQueue | undefined {
    const key = safeKey(queue);
    let sent = this.#byKey.get(key);
    if (sent !== undefined || this.#byKey.size >= QUEUES_MAX) return sent;
    sent = new SentToQueue();
    this.#byKey.set(key, sent);
    return sent;
  }
}
