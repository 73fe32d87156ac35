/**
 * One process of a worker: its last sign of life, and what its worker events report. They are applied in the order in which
 * it sent them, once no earlier one can still arrive; signs of life count at once. It does not decide whether it is dead.
 */
import type { EventBase, WorkerSignal } from '../../celery/event.ts';
import { hashOf } from '../tasks/task-key.ts';
import type { HeldWorkerEvent } from '../window/held-worker-events.ts';
import { hasPassed, LATE_EVENTS_MS, RECONNECT_MS, settlingMs } from '../window/lateness.ts';
import { type ActiveCount, ActiveCounts } from './active-counts.ts';
import { patienceMs, silenceMs } from './heartbeat-patience.ts';
import type { InstanceContext } from './instance-context.ts';
import { MissedStarts, NO_PROGRESS, type Progress } from './missed-starts.ts';
import {
  type FirstEvent,
  isEarlier,
  isSentBefore,
  ProcessIdentity,
  placesAfter,
  type Stamped,
} from './process-identity.ts';
import { belongsToOlder, comesBack, isLongAfterGoodbye, StrayEvents } from './stray-events.ts';
import type { WorkerReport } from './worker-report.ts';

/** A minute of heartbeats, one every two seconds. Sorting them, or applying all at once, must stay cheap. */
const HELD_EVENTS_MAX = 32;

export class WorkerInstance {
  readonly nodename: string;
  readonly pid: number;
  /** Of its nodename and pid. */
  readonly hash: number;
  readonly #context: InstanceContext<WorkerInstance>;
  readonly #tally: MissedStarts;
  /** Its first and last sign of life, in listened time, ms; and for how long it may be silent between two heartbeats. */
  readonly firstSeenMs: number;
  lastSeenMs: number;
  patienceMs = 0;
  /** When it last received a task, in listened time, ms. */
  receivedMs = Number.NEGATIVE_INFINITY;
  readonly arrivals: ProcessIdentity;
  /** The place of its first event in the arrivals of its pid. */
  #startPlace = 0;
  /** When it sent its first event, by the clock of its host, epoch ms. */
  readonly firstReportedMs: number;
  /** The number of the broker connection that its last event arrived on. */
  lastSession: number;
  /** The next process with the same pid: in a container, pid and nodename survive a restart. */
  restartedAs: WorkerInstance | undefined;
  #predecessor: WorkerInstance | undefined;
  #hasSentOnline = false;
  /** The last of its events that arrived after its successor started. */
  #claimed: HeldWorkerEvent | undefined;
  /** It sends heartbeats while it runs tasks, so their absence means something. The solo pool does not. */
  beatsWhileRunning = false;
  /** Its exit was observed. */
  hasExited = false;
  /** When it gave a sign of life after that, in listened time, ms. */
  #revivedAtMs = Number.NEGATIVE_INFINITY;
  /** Why the worker table dropped it: `retired` because it had exited, `evicted` for lack of room. */
  dropped: 'retired' | 'evicted' | undefined = undefined;
  /** By how much timestamps of its starts may be too late, if its times are or were implausible. */
  #uncertaintyMs = 0;
  reported: WorkerReport | undefined = undefined;
  isDeaf = false;
  /** Another process sends with its nodename and pid: no count or end can be attributed to it. */
  isShared = false;
  /** Runs in the task table that keep it in memory. */
  runs = 0;
  active: number | undefined = undefined;
  load: WorkerSignal['loadavg'] = undefined;
  version = '';
  system = '';
  /** Its applied `worker-offline`, unless it has come back since; for several processes with one pid, their last event. */
  goodbye: HeldWorkerEvent | undefined;
  /** In the order in which they were sent. */
  #held: HeldWorkerEvent[] = [];
  counts: ActiveCounts | undefined;
  /** Of its applied events: the highest clock, and the times of the last one, epoch ms. */
  #lastClock = -1;
  #lastApplied: Stamped = { timestampMs: Number.NEGATIVE_INFINITY, implausibleMs: undefined };
  #strays: StrayEvents | undefined;

  constructor(nodename: string, pid: number, context: InstanceContext<WorkerInstance>, first: FirstEvent) {
    this.nodename = nodename;
    this.pid = pid;
    this.hash = hashOf(`${nodename} ${pid}`);
    this.#context = context;
    this.#tally = new MissedStarts(context.windowMs);
    this.firstSeenMs = this.lastSeenMs = first.seenMs;
    this.arrivals = new ProcessIdentity(first, context.windowMs);
    this.firstReportedMs = first.reportedMs;
    this.lastSession = first.session;
  }

  /** Whether it is offline permanently: a `worker-online` soon after a `worker-offline` is a reconnect. */
  isOffline(listenedMs: number): boolean {
    // Of several processes with one pid, another may still run, and be silent during a task.
    if (this.isShared && this.goodbye !== undefined)
      return hasPassed(silenceMs(this.#context.lostTimeoutMs, this), this.lastSeenMs, listenedMs);
    if (this.goodbye === undefined || this.#held.some((held) => this.#comesBack(held))) return false;
    return hasPassed(this.#context.windowMs + RECONNECT_MS, this.goodbye.arrivedAtMs, listenedMs);
  }

  #comesBack(event: HeldWorkerEvent): boolean {
    const { goodbye } = this;
    const wasIdle = this.active === 0 && this.#lastApplied !== goodbye;
    const lostTimeoutMs = silenceMs(this.#context.lostTimeoutMs, this);
    const leaving = { highest: this.#tally.highest ?? 0, wasIdle, lostTimeoutMs };
    return goodbye === undefined || comesBack(event, goodbye, leaving);
  }

  /** The process of this pid that sent the event at that place. */
  at(place: number): WorkerInstance {
    let instance: WorkerInstance = this;
    while (instance.restartedAs !== undefined && placesAfter(place, instance.restartedAs.#startPlace) >= 0)
      instance = instance.restartedAs;
    return instance;
  }

  /** An event of it has arrived. */
  seen(event: EventBase, seenMs: number, session: number): void {
    this.arrivals.add(event, seenMs);
    this.noteAlive(seenMs, session);
  }

  /** An event of it was seen, or a reply. */
  noteAlive(seenMs: number, session: number): void {
    if (seenMs > this.lastSeenMs) this.lastSeenMs = seenMs;
    this.lastSession = session;
    if (!this.hasExited || this.goodbye !== undefined) return;
    this.hasExited = false;
    this.#revivedAtMs = seenMs;
  }

  /** Takes a `task-started` of that time, by its clock; if that was implausible, it happened up to a window earlier. */
  started(timestampMs: number, implausibleTime: boolean, clock: number): void {
    if (implausibleTime) this.#uncertaintyMs = this.#context.windowMs;
    this.arrivals.started();
    if (this.dropped === undefined) this.#tally.started(timestampMs, clock);
  }

  /** Takes a worker event, and holds it until it is due. @param freqS until its next heartbeat, as it announced */
  hold(event: HeldWorkerEvent, freqS?: number): void {
    this.patienceMs = patienceMs({ freqS, processed: event.processed }) ?? this.patienceMs;
    event.place = this.arrivals.last;
    this.#hasSentOnline ||= event.type === 'worker-online';
    const at = this.#held.findLastIndex((held) => !isSentBefore(event, held)) + 1;
    this.#held.splice(at, 0, event);
    event.holder = this;
    if (this.#held.length <= HELD_EVENTS_MAX) return;
    this.applyEarliest();
    if (at === 0) this.#context.onDisorder();
  }

  /** Whether a `worker-online` is from another process: a reconnecting one sends it, too, but its counts continue. */
  isSuccessor(online: HeldWorkerEvent, session: number): boolean {
    if (this.#hasRestarted(online)) return true;
    // It is late, or the clock of its host was set back.
    if (isEarlier(online, this.#lastApplied)) return false;
    if (this.#hasFallen(online)) return true;
    // After a reconnect of ours it may also be a reconnect: the worker may have lost the broker as well.
    if ((online.processed ?? 0) > 0 || session !== this.lastSession) return false;
    return isLongAfterGoodbye(online, this.#held.at(-1) ?? this.goodbye);
  }

  /** Whether its sender has started no task while this process had; unless it may be this one’s own `worker-online`. */
  #hasRestarted({ processed = 0, clock, arrivedAtMs }: HeldWorkerEvent): boolean {
    const isOwnPast = this.#hasSentOnline || hasPassed(LATE_EVENTS_MS, this.firstSeenMs, arrivedAtMs);
    if (processed > 0 || !isOwnPast) return false;
    const hadStarted = this.#held.some((held) => (held.processed ?? 0) > 0) || (this.#tally.highest ?? 0) > 0;
    return hadStarted || clock > this.#tally.firstClock || (clock >= 0 && clock <= this.arrivals.firstClock);
  }

  /** Another process of this pid started where the clock fell, at that place at the latest. */
  replaceBy(successor: WorkerInstance, place: number): void {
    const { fallenAt = place, startsSinceFall } = this.arrivals;
    this.restartedAs = successor;
    successor.#predecessor = this;
    successor.#startPlace = placesAfter(place, fallenAt) >= 0 ? fallenAt : place;
    // Events attributed to it since then were the successor’s.
    this.lastSeenMs = Math.min(this.lastSeenMs, successor.firstSeenMs);
    this.arrivals.lastReportedMs = Math.min(this.arrivals.lastReportedMs, successor.arrivals.lastReportedMs);
    if (this.#revivedAtMs >= successor.firstSeenMs) this.hasExited = true;
    this.#tally.handOver(startsSinceFall, successor.#tally);
    const isLater = (held: HeldWorkerEvent): boolean => this.at(held.place) !== this;
    successor.#held = this.#held.filter(isLater);
    this.#held = this.#held.filter((held) => !isLater(held));
    for (const event of successor.#held) event.holder = successor;
  }

  /** The table drops it. Its runs may still refer to it, so it keeps only its identity and last state. */
  drop(why: 'retired' | 'evicted'): void {
    this.dropped = why;
    for (const event of this.#held) event.holder = undefined;
    this.#held = [];
    this.#claimed = this.#strays = undefined;
    this.load = this.reported = undefined;
    this.version = this.system = '';
    this.#lastApplied = { timestampMs: Number.NEGATIVE_INFINITY, implausibleMs: undefined };
    this.#tally.close();
    const before = this.#predecessor;
    // Otherwise a reference to the first of a hundred processes would keep all of them in memory.
    if (before !== undefined)
      before.restartedAs = before.dropped === undefined ? this.restartedAs : undefined;
    this.#predecessor = undefined;
  }

  /** Applies the held event that was sent first, and observes what is new. */
  applyEarliest(): void {
    const event = this.#held.shift();
    if (event !== undefined) this.#applyOne(event);
  }

  /** Applies all held events. */
  flush(): void {
    while (this.#held.length > 0) this.applyEarliest();
  }

  /** Applies events that another instance held. */
  applyAll(events: readonly HeldWorkerEvent[]): void {
    for (const event of events) this.#applyOne(event);
  }

  /** The last `active` count from before which all events have arrived. */
  settledActive(listenedMs: number): ActiveCount | undefined {
    return this.counts?.settled(settlingMs(this.#context.windowMs), listenedMs);
  }

  share(isShared: boolean): void {
    this.isShared = isShared;
    this.goodbye = this.active = this.counts = this.#claimed = this.#strays = undefined;
    this.#lastClock = -1;
    this.#tally.restart();
  }

  #applyOne(event: HeldWorkerEvent): void {
    event.holder = undefined;
    if (this.dropped !== undefined) return;
    if (this.isShared) this.#applyShared(event);
    else if (this.#predecessor?.claims(event, this) === true) this.#predecessor.#applyClaimed(event);
    else if (this.#isOwn(event)) this.#apply(event);
  }

  /** All have left if the last event of all is a `worker-offline`. */
  #applyShared(event: HeldWorkerEvent): void {
    this.#noteState(event);
    if (event.type === 'worker-offline') this.goodbye = event;
    else if (this.goodbye !== undefined) {
      this.goodbye = undefined;
      this.hasExited = false;
    }
  }

  /** Whether an event that arrived after the successor started is its own: both are alive and share a pid. */
  claims(event: HeldWorkerEvent, successor: WorkerInstance): boolean {
    const { processed, arrivedAtMs } = event;
    if (processed === undefined || this.#hasFallen(event)) return false;
    const highest = this.#claimed?.processed ?? this.#tally.highest;
    if (!belongsToOlder(processed, highest, successor.#tally.expected)) return false;
    return this.dropped === undefined && arrivedAtMs - this.lastSeenMs <= LATE_EVENTS_MS;
  }

  /** A single event may be the successor’s, as its count passes this one’s; but none follows a `worker-offline`. */
  #applyClaimed(event: HeldWorkerEvent): void {
    const before = this.#claimed;
    this.#claimed = event;
    if (before === undefined && event.type !== 'worker-offline') return;
    this.noteAlive(event.arrivedAtMs, event.session);
    this.#apply(event);
  }

  /** Whether the event is this process’s. A restart sends `worker-online`, but this may have been missed. */
  #isOwn(event: HeldWorkerEvent): boolean {
    const hasFallen = this.#hasFallen(event);
    if (!hasFallen) this.#strays?.noteOwn(event.arrivedAtMs);
    else this.#strays ??= new StrayEvents();
    const restart = hasFallen ? this.#strays?.add(event, isEarlier(event, this.#lastApplied)) : undefined;
    if (restart !== undefined) this.#context.onRestart(this, restart);
    return !hasFallen;
  }

  /** Whether a count or the logical clock fell: those of one process never do. */
  #hasFallen({ processed = Number.POSITIVE_INFINITY, clock }: HeldWorkerEvent): boolean {
    return processed < (this.#tally.highest ?? 0) || (clock >= 0 && clock < this.#lastClock);
  }

  #apply(event: HeldWorkerEvent): void {
    const { timestampMs, clock, arrivedAtMs, place, session, active, processed, type } = event;
    if (type === 'worker-offline') this.goodbye = event;
    else if (this.goodbye !== undefined && this.#comesBack(event)) {
      this.goodbye = undefined;
      this.hasExited = false;
    }
    if (type === 'worker-heartbeat' && (active ?? 0) > 0) this.beatsWhileRunning = true;
    this.#lastClock = Math.max(this.#lastClock, clock);
    this.active = active ?? this.active;
    this.#noteState(event);
    const progress = processed === undefined ? NO_PROGRESS : this.#report(processed, event);
    if (active === undefined) return;
    const when = { timestampMs: timestampMs - this.#uncertaintyMs, clock, arrivedAtMs, place, session };
    this.counts ??= new ActiveCounts();
    this.counts.report({ ...when, active }, progress);
  }

  #noteState(event: HeldWorkerEvent): void {
    this.#lastApplied = event;
    this.load = event.loadavg ?? this.load;
    this.version = event.softwareVersion || this.version;
    this.system = event.softwareSystem || this.system;
  }

  #report(started: number, event: HeldWorkerEvent): Progress {
    // Its reports before it was known were compared with the starts of another process.
    if (placesAfter(event.place, this.arrivals.first) <= 0) this.#tally.resetBase();
    const elapsedMs = this.counts?.elapsedMs(event);
    const progress = this.#tally.report(started, event, this.#uncertaintyMs, elapsedMs);
    const observed = { worker: this.nodename, processed: progress.processed, eventsLost: progress.lost };
    if (observed.processed > 0 || observed.eventsLost > 0)
      this.#context.observe({ kind: 'worker-progressed', ...observed });
    return progress;
  }
}
