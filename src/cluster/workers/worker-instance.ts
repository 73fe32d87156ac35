/**
 * One process of a worker: its last sign of life, and the state that its worker events report. These events are applied in the
 * order in which the process sent them, once no earlier one can still arrive; but as signs of life they count at once. It does
 * not decide whether the process is dead.
 */
import type { EventBase, WorkerSignal } from '../../celery/event.ts';
import { hashOf } from '../tasks/task-key.ts';
import type { HeldWorkerEvent } from '../window/held-worker-events.ts';
import { hasPassed, LATE_EVENTS_MS, RECONNECT_MS, settlingMs } from '../window/lateness.ts';
import { type ActiveCount, ActiveCounts, placesBefore } from './active-counts.ts';
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

/** The most held events: a minute of heartbeats, one every two seconds. Sorting them, or applying all at once, stays cheap. */
const HELD_EVENTS_MAX = 32;

export class WorkerInstance {
  readonly nodename: string;
  readonly pid: number;
  /** A hash of nodename and pid. */
  readonly hash: number;
  readonly #context: InstanceContext<WorkerInstance>;
  readonly #tally: MissedStarts;
  /** The first and last sign of life of the process, in listened time, ms. */
  readonly firstSeenMs: number;
  lastSeenMs: number;
  /** For how long the process may be silent between two heartbeats, ms; 0 if it announced none. */
  patienceMs = 0;
  /** When the process last received a task, in listened time, ms. */
  receivedMs = Number.NEGATIVE_INFINITY;
  /** The order in which the events of the pid arrived. The place of an event is its number in this order. */
  readonly arrivals: ProcessIdentity;
  /** The place of the first event of the process. */
  #startPlace = 0;
  /** When the process sent its first event, by the clock of its host, epoch ms. */
  readonly firstReportedMs: number;
  /** The number of the broker connection on which its last event arrived. */
  lastSession: number;
  /** The next process with the same pid, since in a container, pid and nodename survive a restart; undefined if there is none. */
  restartedAs: WorkerInstance | undefined;
  #predecessor: WorkerInstance | undefined;
  #hasSentOnline = false;
  /** The last of its events that arrived after its successor started. */
  #claimed: HeldWorkerEvent | undefined;
  /** Whether it sends heartbeats while it runs tasks, so that missing ones prove its death. A solo pool sends none then. */
  beatsWhileRunning = false;
  /** Whether its exit was observed, and it has not come back since. */
  hasExited = false;
  /** When it gave a sign of life after its exit was observed, in listened time, ms. */
  #revivedAtMs = Number.NEGATIVE_INFINITY;
  /** Why the worker table dropped the process: `retired` because it had exited, `evicted` for lack of room. */
  dropped: 'retired' | 'evicted' | undefined = undefined;
  /** By how many ms the timestamps of its starts may be too late; 0 unless its times are or were implausible. */
  #uncertaintyMs = 0;
  /** Its replies to remote control; undefined if there are none. */
  reported: WorkerReport | undefined = undefined;
  /** Whether it is alive but has stopped listening. */
  isDeaf = false;
  /** Whether another process sends with the same nodename and pid, so that no count or end can be attributed to this one. */
  isShared = false;
  /** How many runs in the task table keep the process in memory. */
  runs = 0;
  /** How many tasks it runs, and the load averages, as it last reported; undefined before. */
  active: number | undefined = undefined;
  load: WorkerSignal['loadavg'] = undefined;
  /** Its version of Celery, and its operating system; '' until they are reported. */
  version = '';
  system = '';
  /** Its applied `worker-offline`, unless it has come back since. If processes share the pid: only if it was their last event. */
  goodbye: HeldWorkerEvent | undefined;
  /** Its worker events that are not applied yet, in the order in which it sent them. */
  #held: HeldWorkerEvent[] = [];
  /** The `active` counts that it reported; undefined before. */
  counts: ActiveCounts | undefined;
  /** The highest logical clock of its applied events, and the times of the last one, epoch ms. */
  #lastClock = -1;
  #lastApplied: Stamped = { timestampMs: Number.NEGATIVE_INFINITY, implausibleMs: undefined };
  /** Judges events of the pid that another process seems to have sent; undefined until there is one. */
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
    // If processes share the pid, another one may still run, and be silent during a task.
    if (this.isShared && this.goodbye !== undefined)
      return hasPassed(silenceMs(this.#context.lostTimeoutMs, this), this.lastSeenMs, listenedMs);
    if (this.goodbye === undefined || this.#held.some((held) => this.#comesBack(held))) return false;
    return hasPassed(this.#context.windowMs + RECONNECT_MS, this.goodbye.arrivedAtMs, listenedMs);
  }

  /** Whether the event shows that the process is back after its `worker-offline`. */
  #comesBack(event: HeldWorkerEvent): boolean {
    const { goodbye } = this;
    const wasIdle = this.active === 0 && this.#lastApplied !== goodbye;
    const lostTimeoutMs = silenceMs(this.#context.lostTimeoutMs, this);
    const stateAtGoodbye = { highest: this.#tally.highest ?? 0, wasIdle, lostTimeoutMs };
    return goodbye === undefined || comesBack(event, goodbye, stateAtGoodbye);
  }

  /** The process with this pid that sent the event at that place: this one, or one that replaced it later. */
  at(place: number): WorkerInstance {
    let instance: WorkerInstance = this;
    while (instance.restartedAs !== undefined && placesAfter(place, instance.restartedAs.#startPlace) >= 0)
      instance = instance.restartedAs;
    return instance;
  }

  /** Takes an event of the process as a sign of life. @param seenMs when it was seen, in listened time */
  seen(event: EventBase, seenMs: number, session: number): void {
    this.arrivals.add(event, seenMs);
    this.noteAlive(seenMs, session);
  }

  /** Takes an event or a reply of the process as a sign of life. @param seenMs when it was seen, in listened time */
  noteAlive(seenMs: number, session: number): void {
    if (seenMs > this.lastSeenMs) this.lastSeenMs = seenMs;
    this.lastSession = session;
    if (!this.hasExited || this.goodbye !== undefined) return;
    this.hasExited = false;
    this.#revivedAtMs = seenMs;
  }

  /** Takes a `task-started`. @param implausibleTime whether `timestampMs` is the arrival, up to a window after the start */
  started(timestampMs: number, implausibleTime: boolean, clock: number): void {
    if (implausibleTime) this.#uncertaintyMs = this.#context.windowMs;
    this.arrivals.started();
    if (this.dropped === undefined) this.#tally.started(timestampMs, clock);
  }

  /** Holds a worker event until it is due. @param freqS seconds until the next heartbeat, if the event announced it */
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

  /** Whether a new process sent this `worker-online`. A process that reconnects sends one, too, but its counts continue. */
  isSuccessor(online: HeldWorkerEvent, session: number): boolean {
    if (this.#hasRestarted(online)) return true;
    // An earlier event is late, or the clock of its host was set back.
    if (isEarlier(online, this.#lastApplied)) return false;
    if (this.#hasFallen(online)) return true;
    // If our connection is new, the worker may have lost the broker and reconnected as well.
    if ((online.processed ?? 0) > 0 || session !== this.lastSession) return false;
    return isLongAfterGoodbye(online, this.#held.at(-1) ?? this.goodbye);
  }

  /** Whether the sender has started no task while this process had, and the `worker-online` cannot be this process’s own. */
  #hasRestarted({ processed = 0, clock, arrivedAtMs }: HeldWorkerEvent): boolean {
    const hasOwnPassed = this.#hasSentOnline || hasPassed(LATE_EVENTS_MS, this.firstSeenMs, arrivedAtMs);
    if (processed > 0 || !hasOwnPassed) return false;
    const hadStarted = this.#held.some((held) => (held.processed ?? 0) > 0) || (this.#tally.highest ?? 0) > 0;
    return hadStarted || clock > this.#tally.firstClock || (clock >= 0 && clock <= this.arrivals.firstClock);
  }

  /** Another process with this pid has started: at the place where the clock fell, or at the given place if that is earlier. */
  replaceBy(successor: WorkerInstance, place: number): void {
    const { fallenAt = place, startsSinceFall } = this.arrivals;
    this.restartedAs = successor;
    successor.#predecessor = this;
    successor.#startPlace = placesAfter(place, fallenAt) >= 0 ? fallenAt : place;
    // Events that were attributed to this process since then were the successor’s.
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
    // If the first of a hundred processes kept its link, a reference to it would keep all of them in memory.
    if (before !== undefined)
      before.restartedAs = before.dropped === undefined ? this.restartedAs : undefined;
    this.#predecessor = undefined;
  }

  /** Applies the held event that the process sent first, and emits the observations that follow from it. */
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

  /** The last reported `active` count for which all earlier events have arrived; undefined if there is none. */
  settledActive(listenedMs: number): ActiveCount | undefined {
    return this.counts?.settled(settlingMs(this.#context.windowMs), listenedMs);
  }

  /** Whether the process reported after this start that it runs nothing. */
  wasIdleAfter(start: Parameters<typeof placesBefore>[1], listenedMs: number): boolean {
    const count = this.settledActive(listenedMs);
    return count?.active === 0 && placesBefore(count, start) > 0;
  }

  /** Sets whether the pid is shared, and discards the state that was attributed to this process. */
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

  /** Applies an event of processes that share the pid: all have left if their last event is a `worker-offline`. */
  #applyShared(event: HeldWorkerEvent): void {
    this.#noteState(event);
    if (event.type === 'worker-offline') this.goodbye = event;
    else if (this.goodbye !== undefined) {
      this.goodbye = undefined;
      this.hasExited = false;
    }
  }

  /** Whether this process sent an event that arrived after its successor started: then both are alive and share a pid. */
  claims(event: HeldWorkerEvent, successor: WorkerInstance): boolean {
    const { processed, arrivedAtMs } = event;
    if (processed === undefined || this.#hasFallen(event)) return false;
    const highest = this.#claimed?.processed ?? this.#tally.highest;
    if (!belongsToOlder(processed, highest, successor.#tally.expected)) return false;
    return this.dropped === undefined && arrivedAtMs - this.lastSeenMs <= LATE_EVENTS_MS;
  }

  /** Applies a claimed event. The first may still be the successor’s, and is not applied unless it is a `worker-offline`. */
  #applyClaimed(event: HeldWorkerEvent): void {
    const before = this.#claimed;
    this.#claimed = event;
    if (before === undefined && event.type !== 'worker-offline') return;
    this.noteAlive(event.arrivedAtMs, event.session);
    this.#apply(event);
  }

  /** Whether this process sent the event. A new process sends `worker-online` first, but that may have been missed. */
  #isOwn(event: HeldWorkerEvent): boolean {
    const hasFallen = this.#hasFallen(event);
    if (!hasFallen) this.#strays?.noteOwn(event.arrivedAtMs);
    else this.#strays ??= new StrayEvents();
    const restart = hasFallen ? this.#strays?.add(event, isEarlier(event, this.#lastApplied)) : undefined;
    if (restart !== undefined) this.#context.onRestart(this, restart);
    return !hasFallen;
  }

  /** Whether the count of started tasks or the logical clock fell, which those of one process never do. */
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

  /** Compares the reported number of started tasks with the events of starts, and observes the progress. */
  #report(started: number, event: HeldWorkerEvent): Progress {
    // An earlier report of this process was compared with the starts of another one.
    if (placesAfter(event.place, this.arrivals.first) <= 0) this.#tally.resetBase();
    const elapsedMs = this.counts?.elapsedMs(event);
    const progress = this.#tally.report(started, event, this.#uncertaintyMs, elapsedMs);
    const observed = { worker: this.nodename, processed: progress.processed, eventsLost: progress.lost };
    if (observed.processed > 0 || observed.eventsLost > 0)
      this.#context.observe({ kind: 'worker-progressed', ...observed });
    return progress;
  }
}
