/**
 * One process of a worker: when it gave its last sign of life, and what it told of itself. Its words are taken in the
 * order in which it said them, once no earlier one can still come; signs of life count at once. It does not decide whether
 * it is dead.
 */
import type { WorkerSignal } from '../celery/event.ts';
import { hashOf } from './fingerprint.ts';
import { hasPassed, settlingMs } from './lateness.ts';
import type { Observe } from './observation.ts';
import { StartTally } from './start-tally.ts';

/** What it said of itself last. */
interface Word {
  /** By its own clock, epoch ms. */
  readonly timestampMs: number;
  readonly arrivedAtMs: number;
  readonly active: number;
}

/** A word that waits to be applied. */
export interface HeldSignal {
  readonly signal: WorkerSignal;
  /** In listened time, ms. */
  readonly arrivedAtMs: number;
}

/** What all instances have in common. */
export interface InstanceSurroundings {
  /** How much later than a word an earlier one may come, ms. */
  readonly windowMs: number;
  readonly observe: Observe;
  /** Told of a word that was applied early, for lack of room. */
  readonly onEarly: () => void;
  /** The instance’s counts began anew without a greeting; these are the first words of its successor. */
  readonly onRestart: (instance: WorkerInstance, words: readonly HeldSignal[]) => void;
}

/** A worker says something every two seconds. */
const HELD_SIGNALS_MAX = 64;

export class WorkerInstance {
  readonly nodename: string;
  readonly pid: number;
  /** Of its name and pid. */
  readonly hash: number;
  readonly #surroundings: InstanceSurroundings;
  readonly #tally: StartTally;
  /** When it was last heard of, in listened time, ms. */
  lastSeenMs: number;
  /** When it was first heard of, in listened time, ms. */
  readonly firstSeenMs: number;
  /** The timestamps of its first and of its last event so far, by its own clock, epoch ms. */
  firstToldMs: number;
  lastToldMs: number;
  /** The connection to the broker on which it was last heard of, counted. */
  lastSession: number;
  /** A process of the same pid took its place: in containers, a pid and a nodename survive a restart. */
  rebornAs: WorkerInstance | undefined;
  /** Two processes have its nodename and its pid: what one of them says proves nothing of the other. */
  isShared = false;
  /** Heartbeats came while it ran a task, so their absence means something. Pool solo sends none meanwhile. */
  beatsWhileRunning = false;
  /** Why it left, once that was counted. */
  hasExited = false;
  /** The worker table no longer knows it: `retired` since it is gone, `evicted` for lack of room. */
  dropped: 'retired' | 'evicted' | undefined = undefined;
  active: number | undefined = undefined;
  load: WorkerSignal['loadavg'] = undefined;
  version = '';
  system = '';
  /** It said goodbye, and has not said since that it is there. */
  #saidGoodbye = false;
  /** In the order in which they were said. */
  #held: HeldSignal[] = [];
  #lastWord: Word | undefined;
  #wordBefore: Word | undefined;
  /** Of its last word that was applied. */
  #lastClock = -1;
  #lastAppliedMs = Number.NEGATIVE_INFINITY;
  /** It told of fewer tasks than before: the next word shows whether that is so. */
  #fall: HeldSignal | undefined;

  constructor(
    nodename: string,
    pid: number,
    surroundings: InstanceSurroundings,
    first: { readonly seenMs: number; readonly toldMs: number; readonly session: number },
  ) {
    this.nodename = nodename;
    this.pid = pid;
    this.hash = hashOf(`${nodename} ${pid}`);
    this.#surroundings = surroundings;
    this.#tally = new StartTally(surroundings.windowMs);
    this.lastSeenMs = first.seenMs;
    this.firstSeenMs = first.seenMs;
    this.firstToldMs = first.toldMs;
    this.lastToldMs = first.toldMs;
    this.lastSession = first.session;
  }

  /** Said goodbye for good: a goodbye with a greeting close behind it is a reconnect. */
  get offline(): boolean {
    return this.#saidGoodbye && this.#held.length === 0;
  }

  /** Not all that it said was applied. */
  get hasMoreToSay(): boolean {
    return this.#held.length > 0;
  }

  /** The process of this nodename and pid that ran then, by its own clock. */
  at(timestampMs: number): WorkerInstance {
    let instance: WorkerInstance = this;
    while (instance.rebornAs !== undefined && timestampMs >= instance.rebornAs.firstToldMs) {
      instance = instance.rebornAs;
    }
    return instance;
  }

  /** An event of it came. */
  seen(seenMs: number, toldMs: number, session: number): void {
    if (seenMs > this.lastSeenMs) this.lastSeenMs = seenMs;
    if (toldMs > this.lastToldMs) this.lastToldMs = toldMs;
    this.lastSession = session;
    if (!this.#saidGoodbye) this.hasExited = false;
  }

  /** A start of a task reached us that happened then, by its clock. */
  started(timestampMs: number): void {
    this.#tally.started(timestampMs);
  }

  /** Takes what it says of itself. */
  hear(signal: WorkerSignal, arrivedAtMs: number): void {
    const at = this.#held.findLastIndex((held) => !isBefore(signal, held.signal)) + 1;
    this.#held.splice(at, 0, { signal, arrivedAtMs });
    if (this.#held.length <= HELD_SIGNALS_MAX) return;
    this.#applyFirst(1);
    this.#surroundings.onEarly();
  }

  /**
   * Whether this greeting is that of another process: one that lost its broker for a moment greets as well, but its counts
   * go on.
   */
  isSuccessor({ processed, clock, timestampMs }: WorkerSignal): boolean {
    if (this.isShared || timestampMs <= this.#lastAppliedMs) return false;
    const before = this.#held.map(({ signal }) => signal).filter((word) => word.timestampMs < timestampMs);
    const counts = [this.#tally.highest ?? 0, ...before.map((word) => word.processed ?? 0)];
    const clocks = [this.#lastClock, ...before.map((word) => word.clock)];
    if (clock >= 0 && clock < Math.max(...clocks)) return true;
    if (processed === undefined) return false;
    return processed < Math.max(...counts) || (processed === 0 && this.#tally.hasBegunBefore(timestampMs));
  }

  /** Another process of this pid has begun when it told its first event: what was told since then is of that one. */
  giveWayTo(successor: WorkerInstance): void {
    this.rebornAs = successor;
    this.#tally.splitAt(successor.firstToldMs, successor.#tally);
    const isLater = ({ signal }: HeldSignal): boolean => signal.timestampMs >= successor.firstToldMs;
    successor.#held = this.#held.filter(isLater);
    this.#held = this.#held.filter((held) => !isLater(held));
  }

  /** Applies its words whose time has come, and says what they add to what was known. */
  release(listenedMs: number): void {
    if (this.#held.length === 0) return;
    const { windowMs } = this.#surroundings;
    this.#applyFirst(
      this.#held.findLastIndex(({ arrivedAtMs }) => hasPassed(windowMs, arrivedAtMs, listenedMs)) + 1,
    );
  }

  /** Applies all its words at once. */
  flush(): void {
    this.#applyFirst(this.#held.length);
  }

  /** Applies words that another instance held. */
  takeOver(words: readonly HeldSignal[]): void {
    for (const word of words) this.#applyOne(word);
  }

  /**
   * How many tasks it was running at some moment, and when that was by its own clock, such that by now everything is
   * known that had happened until then; undefined where it has not told.
   */
  settledActive(listenedMs: number): { readonly active: number; readonly timestampMs: number } | undefined {
    const settledAfterMs = settlingMs(this.#surroundings.windowMs);
    return [this.#lastWord, this.#wordBefore].find(
      (word) => word !== undefined && hasPassed(settledAfterMs, word.arrivedAtMs, listenedMs),
    );
  }

  #applyFirst(count: number): void {
    for (const word of this.#held.splice(0, count)) this.#applyOne(word);
  }

  #applyOne(word: HeldSignal): void {
    const counts = this.#counts(word);
    const owner = this.at(word.signal.timestampMs);
    if (owner !== this) {
      owner.takeOver([word]);
      return;
    }
    this.#apply(word);
    if (!counts) return;
    const { processed = 0, timestampMs } = word.signal;
    const { processed: begun, lost } = this.#tally.told(processed, timestampMs);
    if (begun === 0 && lost === 0) return;
    if (processed === 0 && lost === 0) return;
    this.#surroundings.observe({
      kind: 'worker-progressed',
      worker: this.nodename,
      processed: begun,
      eventsLost: lost,
    });
  }

  /**
   * Whether the word tells how many tasks this process has begun. One that begins anew greets, but its greeting may have
   * been missed; then the count falls, and stays low. Where it rises again at once, two processes share the name.
   */
  #counts(word: HeldSignal): boolean {
    const { processed, timestampMs } = word.signal;
    if (processed === undefined) return false;
    const hasFallen = processed < (this.#tally.highest ?? 0);
    if (this.isShared || timestampMs < this.#lastAppliedMs) return !hasFallen;
    const fall = this.#fall;
    this.#fall = hasFallen && fall === undefined ? word : undefined;
    if (fall !== undefined && hasFallen) this.#surroundings.onRestart(this, [fall]);
    if (fall !== undefined && !hasFallen) this.isShared = true;
    return !hasFallen;
  }

  #apply({ signal, arrivedAtMs }: HeldSignal): void {
    const { timestampMs, active, type } = signal;
    this.#saidGoodbye = type === 'worker-offline';
    if (!this.#saidGoodbye) this.hasExited = false;
    if (type === 'worker-heartbeat' && (active ?? 0) > 0) this.beatsWhileRunning = true;
    this.#lastClock = signal.clock;
    this.#lastAppliedMs = timestampMs;
    this.active = active ?? this.active;
    this.load = signal.loadavg ?? this.load;
    this.version = signal.softwareVersion || this.version;
    this.system = signal.softwareSystem || this.system;
    if (active !== undefined) {
      this.#wordBefore = this.#lastWord;
      this.#lastWord = { timestampMs, arrivedAtMs, active };
    }
  }
}

/** Whether one was said before the other. */
function isBefore(one: WorkerSignal, other: WorkerSignal): boolean {
  if (one.timestampMs !== other.timestampMs) return one.timestampMs < other.timestampMs;
  return one.clock < other.clock;
}
