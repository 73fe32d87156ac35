/**
 * One process of a worker: when it gave its last sign of life, and what it told of itself. Its words are taken in the
 * order in which it said them, once no earlier one can still come; signs of life count at once. It does not decide whether
 * it is dead.
 */
import type { EventBase, WorkerSignal } from '../celery/event.ts';
import { type ActiveCount, ActiveCounts } from './active-counts.ts';
import { Arrivals, type FirstSign, placesAfter } from './arrivals.ts';
import { hashOf } from './fingerprint.ts';
import type { HeldWord } from './held-words.ts';
import { GOODBYE_MS, hasPassed, LAST_WORDS_MS, RECONNECT_MS, settlingMs } from './lateness.ts';
import type { Observe } from './observation.ts';
import { StartTally } from './start-tally.ts';
import { isOfOlder, type Restart, StrayWords } from './stray-words.ts';
import { isBefore, isEarlier } from './word-order.ts';

/** What all instances have in common. */
export interface InstanceSurroundings {
  /** How much later than a word an earlier one may come, ms. */
  readonly windowMs: number;
  readonly observe: Observe;
  /** Told of a word that was applied early, for lack of room. */
  readonly onEarly: () => void;
  /** Told of what proves that another process has taken the place of the instance. */
  readonly onRestart: (instance: WorkerInstance, restart: Restart) => void;
}

/** A worker says something every two seconds. They are kept sorted, which a hostile sender must not make long. */
const HELD_WORDS_MAX = 64;

export class WorkerInstance {
  readonly nodename: string;
  readonly pid: number;
  /** Of its name and pid. */
  readonly hash: number;
  readonly #surroundings: InstanceSurroundings;
  readonly #tally: StartTally;
  /** When it was first and when it was last heard of, in listened time, ms. */
  readonly firstSeenMs: number;
  lastSeenMs: number;
  readonly arrivals: Arrivals;
  /** Where it began in the order in which the events of its pid came. */
  #beganAt = 0;
  /** When it sent its first event, in listened time, ms; in this order processes follow one another. */
  firstSpokeMs: number;
  /** Others were known that began after that: it may be gone, or a clock be wrong. */
  seemsLate = false;
  /** The connection to the broker on which it was last heard of, counted. */
  lastSession: number;
  /** The process of the same pid that began after it: in containers, a pid and a nodename survive a restart. */
  rebornAs: WorkerInstance | undefined;
  #predecessor: WorkerInstance | undefined;
  #hasGreeted = false;
  /** The last of its words that came after its successor had begun. */
  #claimed: HeldWord | undefined;
  /** Heartbeats came while it ran a task, so their absence means something. Pool solo sends none meanwhile. */
  beatsWhileRunning = false;
  /** Its exit was counted. */
  hasExited = false;
  /** When it was heard of after that, in listened time, ms. */
  #revivedAtMs = Number.NEGATIVE_INFINITY;
  /** The worker table no longer knows it: `retired` since it is gone, `evicted` for lack of room. */
  dropped: 'retired' | 'evicted' | undefined = undefined;
  /** By how much what it told may seem to have happened too late: its times are implausible, or once were. */
  #vagueMs = 0;
  /** Runs in the task table that keep it in memory. */
  runs = 0;
  active: number | undefined = undefined;
  load: WorkerSignal['loadavg'] = undefined;
  version = '';
  system = '';
  /** It said goodbye, and has not said since that it is there. */
  saidGoodbye = false;
  #goodbyeAtMs = 0;
  /** In the order in which they were said. */
  #held: HeldWord[] = [];
  #counts: ActiveCounts | undefined;
  /** Of its applied words: the highest clock, and the times of the last one, epoch ms. */
  #lastClock = -1;
  #lastAppliedMs = Number.NEGATIVE_INFINITY;
  #lastImplausibleMs: number | undefined;
  #strays: StrayWords | undefined;

  constructor(nodename: string, pid: number, surroundings: InstanceSurroundings, first: FirstSign) {
    this.nodename = nodename;
    this.pid = pid;
    this.hash = hashOf(`${nodename} ${pid}`);
    this.#surroundings = surroundings;
    this.#tally = new StartTally(surroundings.windowMs);
    this.firstSeenMs = this.lastSeenMs = first.seenMs;
    this.arrivals = new Arrivals(first);
    this.firstSpokeMs = first.spokeMs;
    this.lastSession = first.session;
  }

  /** Said goodbye for good: a goodbye with a greeting close behind it is a reconnect. */
  isOffline(listenedMs: number): boolean {
    const mayGreetMs = this.#surroundings.windowMs + RECONNECT_MS;
    return this.saidGoodbye && this.#held.length === 0 && listenedMs - this.#goodbyeAtMs >= mayGreetMs;
  }

  /** The process of this pid that told what came at that place. */
  at(place: number): WorkerInstance {
    let instance: WorkerInstance = this;
    while (instance.rebornAs !== undefined && placesAfter(place, instance.rebornAs.#beganAt) >= 0)
      instance = instance.rebornAs;
    return instance;
  }

  /** An event of it came. */
  seen(event: EventBase, seenMs: number, session: number): void {
    const { clock, timestampMs, implausibleMs = timestampMs } = event;
    this.arrivals.add(clock, implausibleMs, seenMs - this.firstSeenMs <= this.#surroundings.windowMs);
    this.#isThere(seenMs, session);
  }

  #isThere(seenMs: number, session: number): void {
    if (seenMs > this.lastSeenMs) this.lastSeenMs = seenMs;
    this.lastSession = session;
    if (!this.hasExited || this.saidGoodbye) return;
    this.hasExited = false;
    this.#revivedAtMs = seenMs;
  }

  /** A start of a task reached us that happened then, by its clock, or not long before where that time is implausible. */
  started(timestampMs: number, implausibleTime: boolean, clock: number): void {
    if (implausibleTime) this.#vagueMs = this.#surroundings.windowMs;
    this.arrivals.started();
    if (this.dropped === undefined) this.#tally.started(timestampMs, clock);
  }

  /** Takes what it says of itself. */
  hear(word: HeldWord): void {
    word.place = this.arrivals.last;
    this.#hasGreeted ||= word.type === 'worker-online';
    const at = this.#held.findLastIndex((held) => !isBefore(word, held)) + 1;
    this.#held.splice(at, 0, word);
    word.holder = this;
    if (this.#held.length <= HELD_WORDS_MAX) return;
    this.applyEarliest();
    this.#surroundings.onEarly();
  }

  /** Whether another process greets: one that lost its broker for a moment greets as well, but its counts go on. */
  isSuccessor(greeting: HeldWord, session: number): boolean {
    if (this.#hasBegunAnew(greeting)) return true;
    if (this.#isFromBefore(greeting)) return false;
    if (this.#hasFallen(greeting)) return true;
    return (greeting.processed ?? 0) === 0 && session === this.lastSession && this.#leftBefore(greeting);
  }

  /** Whether it comes from a process that has begun nothing while this one had; its own greeting has come, or should have. */
  #hasBegunAnew({ processed = 0, clock, arrivedAtMs }: HeldWord): boolean {
    const isOwnPast = this.#hasGreeted || hasPassed(LAST_WORDS_MS, this.firstSeenMs, arrivedAtMs);
    if (processed > 0 || !isOwnPast) return false;
    const hadBegun = this.#held.some((held) => (held.processed ?? 0) > 0) || (this.#tally.highest ?? 0) > 0;
    return hadBegun || (clock >= 0 && clock <= this.arrivals.firstClock);
  }

  /** Its last word was a goodbye, long before; where the broker was away meanwhile, its own connection was as well. */
  #leftBefore({ timestampMs }: HeldWord): boolean {
    const last = this.#held.at(-1);
    const saidGoodbye = last === undefined ? this.saidGoodbye : last.type === 'worker-offline';
    return saidGoodbye && timestampMs - (last?.timestampMs ?? this.#lastAppliedMs) > GOODBYE_MS;
  }

  /** Another process of this pid began where the clock fell, at the latest at that place. */
  giveWayTo(successor: WorkerInstance, place: number): void {
    const { fallenAt = place, startsSinceFall } = this.arrivals;
    this.rebornAs = successor;
    successor.#predecessor = this;
    successor.#beganAt = placesAfter(place, fallenAt) >= 0 ? fallenAt : place;
    // What it seemed to send since then was the other's.
    this.lastSeenMs = Math.min(this.lastSeenMs, successor.firstSeenMs);
    if (this.#revivedAtMs >= successor.firstSeenMs) this.hasExited = true;
    this.#tally.handOver(startsSinceFall, successor.#tally);
    const isLater = (held: HeldWord): boolean => this.at(held.place) !== this;
    successor.#held = this.#held.filter(isLater);
    this.#held = this.#held.filter((held) => !isLater(held));
    for (const word of successor.#held) word.holder = successor;
  }

  /**
   * The table no longer knows it. What it ran may still refer to it, so it keeps who it was and how it was last, and
   * nothing else.
   */
  drop(why: 'retired' | 'evicted'): void {
    this.dropped = why;
    for (const word of this.#held) word.holder = undefined;
    this.#held = [];
    this.#claimed = undefined;
    this.#strays = undefined;
    this.load = undefined;
    this.version = this.system = '';
    this.#tally.close();
    const before = this.#predecessor;
    // Else whoever still refers to the first of a hundred processes would keep all of them.
    if (before !== undefined) before.rebornAs = before.dropped === undefined ? this.rebornAs : undefined;
    this.#predecessor = undefined;
  }

  /** Applies the first of the words that it holds, and says what that adds to what was known. */
  applyEarliest(): void {
    const word = this.#held.shift();
    if (word !== undefined) this.#applyOne(word);
  }

  /** Applies all its words at once. */
  flush(): void {
    while (this.#held.length > 0) this.applyEarliest();
  }

  /** Applies words that another instance held. */
  takeOver(words: readonly HeldWord[]): void {
    for (const word of words) this.#applyOne(word);
  }

  /** How many tasks it was running at some moment about which everything is known by now. */
  settledActive(listenedMs: number): ActiveCount | undefined {
    return this.#counts?.settled(settlingMs(this.#surroundings.windowMs), listenedMs);
  }

  #applyOne(word: HeldWord): void {
    word.holder = undefined;
    if (this.dropped !== undefined) return;
    if (this.#predecessor?.claims(word, this) === true) this.#predecessor.#applyClaimed(word);
    else if (this.#isOwn(word)) this.#apply(word);
  }

  /** Whether a word that came after the successor had begun is its own: it is there still, and they share a pid. */
  claims(word: HeldWord, successor: WorkerInstance): boolean {
    const { processed, arrivedAtMs } = word;
    if (processed === undefined || this.#hasFallen(word)) return false;
    const highest = this.#claimed?.processed ?? this.#tally.highest;
    if (!isOfOlder(processed, highest, successor.#tally.highest)) return false;
    return this.dropped === undefined && arrivedAtMs - this.lastSeenMs <= LAST_WORDS_MS;
  }

  /** One word alone may be the successor's, whose count passes by; but no other follows a goodbye. */
  #applyClaimed(word: HeldWord): void {
    const before = this.#claimed;
    this.#claimed = word;
    if (before === undefined && word.type !== 'worker-offline') return;
    this.#isThere(word.arrivedAtMs, word.session);
    this.#apply(word);
  }

  /** Whether the word is of this process. One that begins anew greets, but its greeting may have been missed. */
  #isOwn(word: HeldWord): boolean {
    const hasFallen = this.#hasFallen(word);
    if (!hasFallen) this.#strays?.goesOn(word.arrivedAtMs);
    else this.#strays ??= new StrayWords();
    const restart = hasFallen ? this.#strays?.add(word, this.#isFromBefore(word)) : undefined;
    if (restart !== undefined) this.#surroundings.onRestart(this, restart);
    return !hasFallen;
  }

  /** Its own counts and its own clock never fall. */
  #hasFallen({ processed = Number.POSITIVE_INFINITY, clock }: HeldWord): boolean {
    return processed < (this.#tally.highest ?? 0) || (clock >= 0 && clock < this.#lastClock);
  }

  /** Whether it seems to have been said before what was applied last: it came late, or the clock of its host was set back. */
  #isFromBefore(word: HeldWord): boolean {
    return isEarlier(word, { timestampMs: this.#lastAppliedMs, implausibleMs: this.#lastImplausibleMs });
  }

  #apply(word: HeldWord): void {
    const { timestampMs, arrivedAtMs, session, active, processed, type } = word;
    const isGoodbye = type === 'worker-offline';
    if (this.saidGoodbye && !isGoodbye) this.hasExited = false;
    if (isGoodbye) this.#goodbyeAtMs = arrivedAtMs;
    this.saidGoodbye = isGoodbye;
    if (type === 'worker-heartbeat' && (active ?? 0) > 0) this.beatsWhileRunning = true;
    this.#lastClock = Math.max(this.#lastClock, word.clock);
    this.#lastAppliedMs = timestampMs;
    this.#lastImplausibleMs = word.implausibleMs;
    this.active = active ?? this.active;
    this.load = word.loadavg ?? this.load;
    this.version = word.softwareVersion || this.version;
    this.system = word.softwareSystem || this.system;
    if (active !== undefined) {
      const when = { timestampMs: timestampMs - this.#vagueMs, arrivedAtMs, place: word.place, session };
      this.#counts ??= new ActiveCounts();
      this.#counts.told({ ...when, active });
    }
    if (processed !== undefined) this.#tell(processed, word);
  }

  #tell(told: number, { timestampMs, clock, place }: HeldWord): void {
    // What it had told before it was known was compared with the starts of another.
    if (placesAfter(place, this.arrivals.first) <= 0) this.#tally.compareAnew();
    const { processed, lost } = this.#tally.told(told, timestampMs, this.#vagueMs, clock);
    if (processed === 0 && lost === 0) return;
    const progress = { worker: this.nodename, processed, eventsLost: lost };
    this.#surroundings.observe({ kind: 'worker-progressed', ...progress });
  }
}
