/**
 * Reports each finished run once to a listener, with the facts about earlier runs and parents that a trace needs. It also
 * reports sendings that no run follows soon. It is created only if there is a listener. It does not decide ends, and does not
 * change observations.
 */
import type { Lineage, TaskSent, TaskTraced } from '../../celery/event.ts';
import { UNKNOWN } from '../../cluster/observation.ts';
import type { Run, Sending } from '../../cluster/tasks/run.ts';
import type {
  EndOfRun,
  KnownTasks,
  OpenRunListener,
  RunListener,
  SentAs,
} from '../../cluster/tasks/run-listener.ts';
import type { HeldEvent, Task } from '../../cluster/tasks/task.ts';
import { hasPassed, holdingMs, UNKNOWN_AFTER_MS } from '../../cluster/window/lateness.ts';
import type { Ancestry, FinishedListener } from './finished.ts';
import {
  ancestryOf,
  begunWith,
  type End,
  endOf,
  finishedRun,
  hasOtherParent,
  inTrace,
  isOfAnother,
  isOver,
  type KnownPlaces,
  loneSending,
  OWN_ROOT,
} from './finished-facts.ts';
import { put, RunDetails } from './run-details.ts';
import { type RunFacts, SentRecord } from './run-facts.ts';
import { FIRST_PLACE, type Placed, RunPlaces } from './run-places.ts';
import { TraceRoots } from './trace-roots.ts';

/** Per task: an entry for its name, and an entry once it is no longer expected. */
const NAME_BYTES = 16;
const UNEXPECTED_BYTES = 100;
/** Upper bound per task, with its places and its trace. */
const BYTES_PER_TASK = 800;
const BYTES_AT_FIRST = 16_384;

/** Makes a cluster report its finished runs to `listener`. */
export function finishedRuns(listener: FinishedListener): OpenRunListener {
  return (tasks, settings) => new FinishedRuns(listener, tasks, settings);
}

class FinishedRuns implements RunListener {
  readonly #listener: FinishedListener;
  readonly #tasks: KnownTasks;
  readonly #facts: RunDetails;
  readonly #places = new RunPlaces();
  readonly #roots: TraceRoots;
  /** The name of each task’s last run, by place in the task table. */
  readonly #names: (string | undefined)[] = [];
  /** Tasks that are no longer expected, each with the listened time since when. */
  readonly #unexpected = new Map<Task, number>();
  /** How long the receipt of a parent may be held in the window, ms. */
  readonly #heldMs: number;
  readonly bytesMax: number;
  /** The current time, epoch ms, by our clock. */
  nowMs = Number.NaN;

  constructor(
    listener: FinishedListener,
    tasks: KnownTasks,
    { tasksMax, windowMs }: { readonly tasksMax: number; readonly windowMs: number },
  ) {
    this.#listener = listener;
    this.#tasks = tasks;
    this.#facts = new RunDetails(tasksMax);
    this.#roots = new TraceRoots(listener);
    this.#heldMs = holdingMs(windowMs);
    this.bytesMax = this.#facts.bytesMax + BYTES_AT_FIRST + tasksMax * BYTES_PER_TASK;
  }

  /** An upper estimate. */
  get bytes(): number {
    const own = this.#names.length * NAME_BYTES + this.#unexpected.size * UNEXPECTED_BYTES;
    return own + this.#places.bytes + this.#roots.bytes + this.#facts.bytes;
  }

  get textsLeftOut(): number {
    return this.#facts.textsLeftOut;
  }

  /** A worker reported in which span it runs the task. */
  traced(event: TaskTraced): void {
    this.#facts.workerSpans.add(this.#tasks.find(event.uuid)?.place, event);
  }

  sent(task: Task, event: TaskSent, of: SentAs): void {
    if (this.#listener.ignoresSendings === true) return;
    const { place } = task;
    if (event.retries > 0 || this.#facts.sending(place, of.name) !== undefined) return;
    // A run was already reported without this sending. Adding it now would change the tree of the trace.
    if (this.#names[place] === of.name && this.#places.wasReported(place)) return;
    if (!this.#facts.hasRoomForSending(place)) return;
    const { lineage, exchange = '', arguments: texts } = event.extras ?? {};
    const kept = this.#facts.kept(this.#own(task, lineage), texts);
    const sentMs = event.implausibleMs === undefined ? event.timestampMs : undefined;
    const reported = { ...of, exchange, sentMs, etaMs: event.etaMs, expiresMs: event.expiresMs };
    this.#facts.addSending(place, new SentRecord(reported, kept));
  }

  /**
   * A run of the task begins.
   * @param event its first event; undefined if its worker reported the run in a reply
   * @param sending the sending that it follows, if known
   */
  began(task: Task, run: Run, event?: HeldEvent, sending?: Sending): void {
    const { place } = task;
    const name = run.identity.task;
    const last = this.#names[place] ?? UNKNOWN;
    const facts = this.#facts.addRun(place, run);
    const receipt = event?.type === 'task-received' ? event : undefined;
    const sent = sending?.retries === 0 ? this.#facts.sending(place, sending.name) : undefined;
    facts.sent = isOfAnother(sent, name, receipt) ? undefined : sent;
    if (facts.sent !== undefined) facts.sent.runName = name;
    this.#keepTexts(task, facts, receipt);
    const uuid = () => this.#tasks.idOf(task);
    const isSentAnew = receipt !== undefined && this.#roots.isSentAnew(place, facts.lineage, uuid);
    const of = this.#parentOf(facts.lineage);
    facts.isParentUnknown = of.isParentUnknown;
    const isBelow = this.#places.noteParent(place, of.parent?.place, receipt?.extras?.lineage, uuid);
    // It is no retry, and its parent is the task itself: so it replaced an earlier run, which was missed.
    const isUnseen = receipt?.retries === 0 && isBelow;
    const isReplacement = last === UNKNOWN ? isUnseen : name !== UNKNOWN && last !== name;
    const begun = { ...begunWith(task, run, event, sending), isReplacement, isSentAnew };
    facts.placed(this.#places.begin(place, begun), of.parentPlace);
    if (name !== UNKNOWN) put(this.#names, place, name);
  }

  /** A receipt was applied: the first event of a new run, or the late receipt of a run that its worker reported earlier. */
  received(task: Task, run: Run, event: HeldEvent, queueTimeS: number | undefined): void {
    const facts = this.#facts.runFacts(task.place, run);
    if (facts === undefined) return;
    facts.received(event.plausibleMs, queueTimeS);
    if (run.isReported) this.#keepTexts(task, facts, event);
    const sent = this.#facts.sendingOf(task.place, facts);
    const atMs = sent?.sentMs ?? event.plausibleMs;
    this.#decide(task, facts.lineage, run.identity.task, atMs, event.retries > 0 ? undefined : event.etaMs);
    if (sent?.isDelayed(this.#listener.delayMaxMs) === true) this.#reportAlone(task, sent, facts.parentPlace);
  }

  started(task: Task, run: Run, waitTimeS: number | undefined, prefetchTimeS: number | undefined): void {
    this.#facts.runFacts(task.place, run)?.started(waitTimeS, prefetchTimeS);
  }

  /** The end of the run was observed. */
  ended(task: Task, run: Run, end: EndOfRun): void {
    const facts = this.#facts.runFacts(task.place, run);
    if (facts?.isReported === true) this.#reportAgain(task, facts, end);
    else this.#report(task, facts, end);
    this.closed(task, run);
  }

  /** The run is over. If its end is observed later, it is not reported again. */
  over(task: Task, run: Run, outcome: 'lost' | 'replaced', endedMs: number | undefined): void {
    this.#report(task, this.#facts.runFacts(task.place, run), endOf(outcome, endedMs));
  }

  /** The end of the run may have been missed. @param sinceMs by the worker’s clock if known */
  doubted(task: Task, run: Run, sinceMs: number | undefined): void {
    const facts = this.#facts.runFacts(task.place, run);
    if (facts !== undefined) facts.doubtedMs = sinceMs ?? this.nowMs;
  }

  /** The run is removed for lack of room. */
  dropped(task: Task, run: Run): void {
    this.#reportUnknown(task, this.#facts.runFacts(task.place, run));
    this.closed(task, run);
  }

  /** The run is removed without a report. */
  closed(task: Task, run: Run): void {
    this.#facts.removeRun(task.place, run);
  }

  /** Reports a sending on its own if it has expired, or if its ETA is far. @param silentMs time since the last event of the task */
  waits(task: Task, silentMs: number, nowMs: number): void {
    if (silentMs <= this.#heldMs) return;
    for (let sent = this.#facts.newestSending(task.place); sent !== undefined; sent = sent.next) {
      const isExpired = (sent.expiresMs ?? Number.POSITIVE_INFINITY) <= nowMs;
      const isWithoutRun = isExpired && this.#facts.isUnreceived(task.place, sent);
      if (isWithoutRun || sent.isDelayed(this.#listener.delayMaxMs)) this.#reportAlone(task, sent);
    }
  }

  /** The task is no longer expected; events may still arrive. */
  expectsNoMore(task: Task, listenedMs: number): void {
    if (!this.#facts.isEmpty(task.place) && !this.#unexpected.has(task))
      this.#unexpected.set(task, listenedMs);
  }

  /** Reports up to `max` tasks that have not been expected for `unknownAfterMs`. @returns whether more are due */
  settle(listenedMs: number, max: number): boolean {
    let left = max;
    const { unknownAfterMs = UNKNOWN_AFTER_MS } = this.#listener;
    for (const [task, sinceMs] of this.#unexpected) {
      if (!hasPassed(unknownAfterMs, sinceMs, listenedMs)) return false;
      if (left === 0) return true;
      left -= 1;
      this.#unexpected.delete(task);
      this.#reportRest(task, isOver);
    }
    return false;
  }

  /** No event of the task is expected any more, because none has arrived for too long. */
  givenUp(task: Task): void {
    this.#reportRest(task, () => true);
  }

  forget(task: Task): void {
    const { place } = task;
    this.#reportRest(task, () => true);
    this.#facts.forget(place);
    if (place < this.#names.length) this.#names[place] = undefined;
    this.#places.forget(place);
    this.#roots.forget(place);
    this.#unexpected.delete(task);
  }

  #keepTexts(task: Task, facts: RunFacts, receipt: HeldEvent | undefined): void {
    const { lineage = facts.sent?.lineage, arguments: texts } = receipt?.extras ?? {};
    const known = lineage ?? this.#facts.newestSending(task.place)?.lineage;
    const kept = this.#facts.kept(this.#own(task, known), texts, facts.sent);
    facts.lineage = kept.lineage;
    facts.arguments = kept.arguments;
  }

  #reportRest(task: Task, isRunOver: (run: Run) => boolean): void {
    const { place } = task;
    if (this.#facts.isEmpty(place)) return;
    for (const facts of this.#facts.runsOf(place)) if (isRunOver(facts.run)) this.#reportUnknown(task, facts);
    for (let sent = this.#facts.newestSending(place); sent !== undefined; sent = sent.next)
      if (this.#facts.isUnreceived(place, sent)) this.#reportAlone(task, sent);
  }

  #reportUnknown(task: Task, facts: RunFacts | undefined): void {
    this.#report(task, facts, endOf('unknown', facts?.doubtedMs ?? this.nowMs));
  }

  #report(task: Task, facts: RunFacts | undefined, end: End): void {
    if (facts === undefined || facts.isReported) return;
    facts.isReported = true;
    const { place } = task;
    const isNamedAlike = facts.run.identity.task === this.#names[place];
    this.#places.reported(place, facts.place, end.outcome === 'retried', isNamedAlike);
    this.#decide(task, facts.lineage, facts.run.identity.task, facts.receivedMs ?? end.endedMs, undefined);
    const sent = this.#facts.sendingOf(place, facts);
    const isSentNew = sent?.isReported === false;
    if (isSentNew) sent.isReported = true;
    const ancestry = this.#ancestry(task, facts.lineage, facts);
    const reported = {
      reportedMs: this.nowMs,
      workerTraceparent: this.#facts.workerSpans.take(place, facts, end),
    };
    const run = finishedRun(ancestry, facts, sent, isSentNew, end, reported);
    const of = isSentNew && hasOtherParent(sent, facts) ? sent.lineage : undefined;
    const sentAncestry = of && this.#ancestry(task, of, this.#parentOf(of));
    this.#listener.onFinished(sentAncestry === undefined ? run : { ...run, sentAncestry });
  }

  /** An event reported the end of a run that had been reported without one; nothing else of it changes. */
  #reportAgain(task: Task, facts: RunFacts, end: End): void {
    if (this.#listener.onEndedAfterAll === undefined) return;
    const sent = this.#facts.sendingOf(task.place, facts);
    const ancestry = this.#ancestry(task, facts.lineage, facts);
    const reported = { reportedMs: this.nowMs, workerTraceparent: undefined };
    this.#listener.onEndedAfterAll(finishedRun(ancestry, facts, sent, false, end, reported));
  }

  /** @param parentPlace the run of the parent when the task was received; undefined if it was not received */
  #reportAlone(task: Task, sent: SentRecord, parentPlace?: Placed): void {
    if (sent.isReported) return;
    sent.isReported = true;
    this.#decide(task, sent.lineage, sent.name, sent.sentMs, sent.etaMs);
    const parent = this.#parentOf(sent.lineage);
    if (parentPlace !== undefined) parent.parentPlace = parentPlace;
    const ancestry = this.#ancestry(task, sent.lineage, parent);
    this.#listener.onFinished(loneSending(ancestry, sent, this.nowMs));
  }

  #ancestry(task: Task, lineage: Lineage | undefined, places: KnownPlaces): Ancestry {
    const uuid = this.#tasks.idOf(task);
    const own = ancestryOf(uuid, lineage, places);
    return inTrace(own, this.#roots.of(task.place, uuid, own.rootId));
  }

  #parentOf(lineage: Lineage | undefined) {
    const parentId = lineage?.parentId ?? '';
    if (parentId === '') return { parent: undefined, parentPlace: FIRST_PLACE, isParentUnknown: false };
    const parent = this.#tasks.find(parentId);
    const parentPlace = parent === undefined ? FIRST_PLACE : this.#places.lastOf(parent.place);
    return { parent, parentPlace, isParentUnknown: parent === undefined };
  }

  /** Replaces the lineage of a task that is its own root by `OWN_ROOT`. */
  #own(task: Task, lineage: Lineage | undefined): Lineage | undefined {
    return lineage?.parentId === '' && this.#tasks.find(lineage.rootId) === task ? OWN_ROOT : lineage;
  }

  /** Decides in which trace the task is, at its first event with a root or a parent. */
  #decide(
    task: Task,
    lineage: Lineage | undefined,
    name: string,
    atMs: number | undefined,
    etaMs: number | undefined,
  ): void {
    if (lineage === OWN_ROOT) this.#roots.noteItself(task.place);
    if (lineage === undefined || lineage === OWN_ROOT || this.#roots.isDecided(task.place)) return;
    const { parent } = this.#parentOf(lineage);
    const sinceMs = atMs ?? this.nowMs;
    const times = { atMs: sinceMs, delayMs: Math.max(0, (etaMs ?? sinceMs) - sinceMs) };
    const parentAt = parent === task ? undefined : parent?.place;
    this.#roots.decide(task.place, { ...lineage, ...times, uuid: this.#tasks.idOf(task), name, parentAt });
  }
}
