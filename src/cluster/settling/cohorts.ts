/**
 * Decides which sent tasks can still wait in the broker: in each queue the newest ones, as many as a poll found messages there.
 * Sendings between two polls form a cohort, which is given up as a whole. It reads no tasks and no workers.
 */
import type { QueueDepth } from '../../broker/broker-reading.ts';
import { safeKey } from '../../text/safe-key.ts';
import type { Moment } from '../moment.ts';
import { hasPassed, LATE_EVENTS_MS } from '../window/lateness.ts';

/** The most queues with sent tasks; the tasks of further queues wait as if there were no polls. */
const QUEUES_MAX = 2000;
/**
 * The most cohorts of one queue; beyond it two neighbours are merged. Each cohort has at least one sending, so that the task
 * table bounds all cohorts together.
 */
const COHORTS_MAX = 64;

/** How many messages a queue held when the broker was polled. */
interface Poll {
  /** When the poll began, in listened time, ms. */
  readonly atMs: number;
  readonly length: number;
}

/** The part of a `Sending` that is used here. */
interface Sent {
  readonly queue: string;
  /** Whether the broker delays the message until its ETA. */
  readonly delayed: boolean;
  readonly plausibleDueMs: number | undefined;
  cohort: Cohort | undefined;
}

/** Sendings of one queue that arrived one after another, with no poll between them. */
export class Cohort {
  readonly #queue: SentToQueue;
  /** How many of its sendings no worker has received. */
  count = 0;
  /** When its last `task-sent` arrived, in listened time, ms. */
  lastMs = 0;
  /**
   * The first of consecutive polls that found too few messages to include any of these sendings, in listened time, ms;
   * undefined if the last poll found enough.
   */
  #tooFewSinceMs: number | undefined;
  /** Whether none of its sendings waits in the broker any more. */
  #isGone = false;
  /** The cohort that it was merged into, which has the sendings of both; undefined if it was not merged. */
  mergedInto: Cohort | undefined;

  constructor(queue: SentToQueue) {
    this.#queue = queue;
  }

  /** The cohort that now contains its sendings: itself, or the cohort that it was merged into, directly or indirectly. */
  get current(): Cohort {
    let cohort: Cohort = this;
    while (cohort.mergedInto !== undefined) cohort = cohort.mergedInto;
    return cohort;
  }

  get isGone(): boolean {
    return this.current.#isGone;
  }

  /**
   * A poll found too few messages to include any of these sendings. One such poll is not enough: a message may still be on its
   * way to its queue, and the receipt of another one on its way to us.
   */
  noteTooFewMessages(atMs: number): void {
    this.#tooFewSinceMs ??= atMs;
    if (hasPassed(LATE_EVENTS_MS, this.#tooFewSinceMs, atMs)) this.#isGone = true;
  }

  /** These sendings may be among the messages that a poll found. */
  noteEnoughMessages(): void {
    this.#tooFewSinceMs = undefined;
  }

  /** Adds the sendings of the next newer cohort, which are at least as likely to be among the messages. */
  merge(newer: Cohort): void {
    this.count += newer.count;
    this.lastMs = newer.lastMs;
    this.#tooFewSinceMs = newer.#tooFewSinceMs;
    newer.mergedInto = this;
  }

  /** Removes a sending that no longer waits. @param isReceived whether a worker has received it; otherwise it was forgotten */
  leave(isReceived: boolean): void {
    this.current.count -= 1;
    if (isReceived && this.isGone) this.#queue.noteOutOfOrder();
  }
}

/** The cohorts of one queue. */
class SentToQueue {
  /** The cohorts, the oldest first. */
  #cohorts: Cohort[] = [];
  /** Whether a poll has begun since the last sending, so that the next sending begins a cohort. */
  #isClosed = true;
  /** Whether messages may be consumed out of order: then a poll is evaluated only after all messages in transit have arrived. */
  #isOutOfOrder = false;
  /** The poll that is still to be evaluated; undefined if there is none. */
  #pendingPoll: Poll | undefined;
  /** When a task was last sent to the queue, in listened time, ms. */
  #lastMs = Number.NEGATIVE_INFINITY;

  /** Whether there is nothing to remember: no sendings, and either messages in order, or no sending since that moment. */
  isForgettable(sinceMs: number): boolean {
    return this.#cohorts.length === 0 && (!this.#isOutOfOrder || this.#lastMs < sinceMs);
  }

  /** Adds a sending to the open cohort, or to a new one. */
  add(listenedMs: number): Cohort {
    const open = this.#isClosed ? undefined : this.#cohorts.at(-1);
    const cohort = open ?? new Cohort(this);
    if (open === undefined) this.#append(cohort);
    cohort.count += 1;
    cohort.lastMs = this.#lastMs = listenedMs;
    return cohort;
  }

  /** A poll begins: the next sending begins a new cohort. */
  close(): void {
    this.#isClosed = true;
  }

  polled(poll: Poll, hasPriorities: boolean): void {
    this.close();
    this.forgetEmpty();
    if (hasPriorities) this.noteOutOfOrder();
    if (!this.#isOutOfOrder) this.#evaluate(poll);
    else if (this.#pendingPoll === undefined) this.#pendingPoll = poll;
    else if (hasPassed(LATE_EVENTS_MS, this.#pendingPoll.atMs, poll.atMs)) {
      this.#evaluate(this.#pendingPoll);
      this.#pendingPoll = poll;
    }
  }

  /** Messages of the queue are consumed out of order: by priority, or a sending that was given up was received after all. */
  noteOutOfOrder(): void {
    if (this.#isOutOfOrder) return;
    this.#isOutOfOrder = true;
    for (const cohort of this.#cohorts) cohort.noteEnoughMessages();
  }

  /** Removes cohorts without sendings. Cohorts that were given up stay, since one of their tasks may still be received. */
  forgetEmpty(): void {
    const newest = this.#cohorts.at(-1);
    this.#cohorts = this.#cohorts.filter(({ count }) => count > 0);
    if (this.#cohorts.at(-1) !== newest) this.#isClosed = true;
  }

  /** Compares the number of messages with the sendings: the newest sendings are those that can still wait. */
  #evaluate({ atMs, length }: Poll): void {
    let newer = 0;
    for (const cohort of this.#cohorts.toReversed()) {
      if (cohort.lastMs >= atMs) continue;
      if (newer >= length) cohort.noteTooFewMessages(atMs);
      else cohort.noteEnoughMessages();
      newer += cohort.count;
    }
  }

  #append(cohort: Cohort): void {
    this.#isClosed = false;
    this.#cohorts.push(cohort);
    if (this.#cohorts.length <= COHORTS_MAX) return;
    this.#cohorts = this.#cohorts.filter((each) => each.count > 0 || each === cohort);
    if (this.#cohorts.length > COHORTS_MAX) this.#mergeTwo();
  }

  /** Merges the two smallest neighbours, so that large cohorts are not mixed with older sendings. */
  #mergeTwo(): void {
    let [at, smallest] = [0, Number.POSITIVE_INFINITY];
    for (const [index, { count, isGone }] of this.#cohorts.slice(0, -2).entries()) {
      const next = this.#cohorts[index + 1];
      const both = count + (next?.count ?? 0);
      if (both < smallest && isGone === next?.isGone) [at, smallest] = [index, both];
    }
    const [older, newer] = this.#cohorts.slice(at, at + 2);
    if (older === undefined || newer === undefined) return;
    older.merge(newer);
    this.#cohorts.splice(at + 1, 1);
  }
}

/** The cohorts of all queues. */
export class Cohorts {
  readonly #byKey = new Map<string, SentToQueue>();
  /** The queue of the last sending: consecutive sendings mostly go to the same one. */
  #last: { readonly queue: string; readonly sent: SentToQueue } | undefined;

  /** Adds a sending that the broker delayed, once the message is in its queue. */
  addOnceDue(sending: Sent, { wallMs, listenedMs }: Moment): void {
    const { queue, delayed, plausibleDueMs, cohort } = sending;
    if (!delayed || cohort !== undefined || plausibleDueMs === undefined) return;
    if (hasPassed(LATE_EVENTS_MS, plausibleDueMs, wallMs)) sending.cohort = this.add(queue, listenedMs);
  }

  /** Adds a sending to the queue. @returns its cohort; undefined if its queue is unknown, or there is no room */
  add(queue: string, listenedMs: number): Cohort | undefined {
    if (queue === '') return undefined;
    if (this.#last?.queue !== queue) {
      const sent = this.#find(queue);
      if (sent === undefined) return undefined;
      this.#last = { queue, sent };
    }
    return this.#last.sent.add(listenedMs);
  }

  /** To be called when a poll begins: the next sending to each queue begins a new cohort. */
  close(): void {
    for (const sent of this.#byKey.values()) sent.close();
  }

  /** Evaluates a poll. @param atMs when it began, in listened time, ms: messages sent later may be missing in its result */
  polled(depths: readonly QueueDepth[], atMs: number): void {
    for (const { queue, length, byPriority = [] } of depths) {
      const hasPriorities = byPriority.some(([priority, count]) => priority > 0 && count > 0);
      this.#byKey.get(safeKey(queue))?.polled({ atMs, length }, hasPriorities);
    }
  }

  /** Forgets queues without sendings. @param sinceMs an out-of-order queue is kept if a task was sent to it since this moment */
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
