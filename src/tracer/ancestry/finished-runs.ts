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
import { RecentKeys } from '../../text/recent-keys.ts';
import { safeKey } from '../../text/safe-key.ts';
import { contextIn } from '../trace-context.ts';
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
  retrySentAs,
  wasRedelivered,
} from './finished-facts.ts';
import { put, RunDetails } from './run-details.ts';
import { type RunFacts, SentRecord } from './run-facts.ts';
import { FIRST_PLACE, linkOf, type Placed, RunPlaces } from './run-places.ts';
import { TraceRoots } from './trace-roots.ts';

/** Per task: an entry for its name, and an entry once it is no longer expected. */
const NAME_BYTES = 16;
const UNEXPECTED_BYTES = 100;
/** Upper bound per task, with its places and its trace. */
const BYTES_PER_TASK = 1400;
/** How many tasks without a receipt are remembered at least because a task that they sent reported their root. */
const MISSED_AT_LEAST = 1000;
const MISSED_BYTES = 2 * MISSED_AT_LEAST * 700;
/** Longer ids are not remembered. */
const REMEMBERED_TEXT_MAX = 64;
/** For how many tasks the spans of workers are remembered at least, for what these tasks sent. */
const TRACEPARENTS_AT_LEAST = 10_000;
const TRACEPARENT_BYTES = 300;
const TRACEPARENTS_BYTES = 2 * TRACEPARENTS_AT_LEAST * TRACEPARENT_BYTES;
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
  /** The roots of tasks whose receipts were missed, by the keys of their ids, as the tasks that they sent report them. */
  readonly #rootsOfMissed = new RecentKeys<string>(MISSED_AT_LEAST);
  /** The spans in which workers ran tasks, by the keys of the tasks’ ids: what they sent is in the same traces. */
  readonly #traceparents = new RecentKeys<string>(TRACEPARENTS_AT_LEAST);
  /** The name of each task’s last run, by place in the task table. */
  readonly #names: (string | undefined)[] = [];
  /** Tasks that are no longer expected, each with the listened time since when; by whether their runs are certainly over. */
  readonly #unexpected = { certain: new Map<Task, number>(), uncertain: new Map<Task, number>() };
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
    this.bytesMax =
      this.#facts.bytesMax + BYTES_AT_FIRST + MISSED_BYTES + TRACEPARENTS_BYTES + tasksMax * BYTES_PER_TASK;
  }

  /** An upper estimate. */
  get bytes(): number {
    const { certain, uncertain } = this.#unexpected;
    const lists = this.#names.length * NAME_BYTES + (certain.size + uncertain.size) * UNEXPECTED_BYTES;
    const own = lists + this.#traceparents.size * TRACEPARENT_BYTES;
    return own + this.#places.bytes + this.#roots.bytes + this.#facts.bytes;
  }

  get textsLeftOut(): number {
    return this.#facts.textsLeftOut;
  }

  /** A worker reported in which span it runs the task. */
  traced(event: TaskTraced): void {
    const task = this.#tasks.find(event.uuid);
    this.#facts.workerSpans.add(task?.place, event);
    // An id that is no uuid may be that of another task later.
    const isUuid = task?.text === '';
    // An invalid traceparent would hide that of the task that sent this one.
    if (isUuid && contextIn(event.traceparent) !== undefined)
      this.#traceparents.set(safeKey(event.uuid), event.traceparent);
  }

  sent(task: Task, event: TaskSent, of: SentAs): void {
    if (this.#listener.ignoresSendings === true) return;
    const { place } = task;
    if (event.retries > 0) return;
    const earlier = this.#facts.sending(place, of.name);
    const { lineage, exchange = '', arguments: texts } = event.extras ?? {};
    // The id is used again for another task, unless the task replaces itself: then it sends one with its own id.
    const isAnew = earlier !== undefined && lineage?.parentId !== this.#tasks.idOf(task);
    if (earlier !== undefined && !isAnew) return;
    // A run was already reported without this sending. Adding it now would change the tree of the trace.
    if (!isAnew && this.#names[place] === of.name && this.#places.wasReported(place)) return;
    if (isAnew && earlier.isReceived) this.#facts.removeSending(place, earlier);
    if (!this.#facts.hasRoomForSending(place)) return;
    const kept = this.#facts.kept(this.#own(task, lineage), texts);
    const sentMs = event.implausibleMs === undefined ? event.timestampMs : undefined;
    const reported = { ...of, exchange, sentMs, etaMs: event.etaMs, expiresMs: event.expiresMs };
    const record = new SentRecord(reported, kept);
    record.isAnew = isAnew;
    this.#facts.addSending(place, record);
    if (this.#names[place] !== undefined) return;
    // Its trace has to be known before the receipts of what it sends.
    if (kept.lineage === OWN_ROOT) this.#decideOwn(task, sentMs ?? this.nowMs);
    this.#open(task, record, false);
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
    const sent =
      sending?.retries === 0 ? this.#facts.sending(place, sending.name, sending.sentMs) : undefined;
    facts.sent = isOfAnother(sent, name, receipt) ? undefined : sent;
    if (facts.sent !== undefined) {
      facts.sent.runName = name;
      facts.sent.isReceived = true;
    }
    if (sending !== undefined && sending.retries > 0) this.#facts.addRetrySent(facts, retrySentAs(sending));
    this.#keepTexts(task, facts, receipt);
    const uuid = () => this.#tasks.idOf(task);
    const isSentAnew =
      receipt !== undefined &&
      (this.#isIdUsedAgain(task, facts, receipt) || this.#roots.isSentAnew(place, facts.lineage, uuid));
    if (isSentAnew) {
      this.#roots.forget(place);
      this.#facts.removeReceived(place, facts.sent);
    }
    // While the id is in use, another task with it counts as another delivery.
    if (!isSentAnew && facts.sent?.isAnew === true && !this.#places.isSentAnew(place)) facts.sent = undefined;
    const of = this.#parentOf(facts.lineage, facts.sent?.sentMs ?? receipt?.plausibleMs);
    this.#noteRootOf(of.parent, facts.lineage);
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
    this.#noteTraceparent(task, facts.lineage);
    this.#open(task, facts, linkOf(facts.previous)?.link === 'retry_of');
    if (sent !== undefined) this.#close(sent);
    if (sent?.isDelayed(this.#listener.delayMaxMs) === true) this.#reportAlone(task, sent, facts.parentPlace);
  }

  started(task: Task, run: Run, waitTimeS: number | undefined, prefetchTimeS: number | undefined): void {
    const facts = this.#facts.runFacts(task.place, run);
    if (facts === undefined) return;
    facts.started(waitTimeS, prefetchTimeS);
    this.#places.started(task.place, facts.place, run.sinceMs);
  }

  /** The end of the run was observed. */
  ended(task: Task, run: Run, end: EndOfRun): void {
    const facts = this.#facts.runFacts(task.place, run);
    if (facts?.isReported === true) this.#reportAgain(task, facts, end);
    else this.#report(task, facts, end);
    this.closed(task, run);
  }

  /** The run is over. If its end is observed later, it is not reported again. */
  over(
    task: Task,
    run: Run,
    outcome: 'lost' | 'redelivered' | 'replaced',
    endedMs: number | undefined,
  ): void {
    this.#report(task, this.#facts.runFacts(task.place, run), endOf(outcome, endedMs));
  }

  /** No end of the run is expected any more. @param sinceMs by the worker’s clock if known */
  doubted(task: Task, run: Run, sinceMs: number | undefined, isCertain: boolean): void {
    const facts = this.#facts.runFacts(task.place, run);
    if (facts === undefined) return;
    facts.doubtedMs = sinceMs ?? this.nowMs;
    facts.isOver = isCertain;
  }

  /** The run is removed for lack of room. */
  dropped(task: Task, run: Run): void {
    this.#reportUnknown(task, this.#facts.runFacts(task.place, run));
    this.closed(task, run);
  }

  /** The run is removed without a report. */
  closed(task: Task, run: Run): void {
    const facts = this.#facts.runFacts(task.place, run);
    if (facts !== undefined) this.#close(facts);
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
    const { certain, uncertain } = this.#unexpected;
    if (this.#facts.isEmpty(task.place) || certain.has(task) || uncertain.has(task)) return;
    (this.#isCertain(task, listenedMs) ? certain : uncertain).set(task, listenedMs);
  }

  /** Reports up to `max` tasks that have not been expected for long. @returns whether more are due */
  settle(listenedMs: number, max: number): boolean {
    let left = max;
    const { unknownAfterMs } = this.#listener;
    this.#noteCertain(listenedMs, max);
    for (const certainty of ['certain', 'uncertain'] as const) {
      const tasks = this.#unexpected[certainty];
      for (const [task, sinceMs] of tasks) {
        if (!hasPassed(unknownAfterMs ?? UNKNOWN_AFTER_MS[certainty], sinceMs, listenedMs)) break;
        if (left === 0) return true;
        left -= 1;
        tasks.delete(task);
        this.#reportRest(task, isOver);
      }
    }
    return false;
  }

  /** Notes of up to `max` tasks whether it has become certain that their runs are over. */
  #noteCertain(listenedMs: number, max: number): void {
    const { certain, uncertain } = this.#unexpected;
    let left = max;
    for (const [task, sinceMs] of uncertain) {
      left -= 1;
      if (left < 0) return;
      if (!this.#isCertain(task, listenedMs)) continue;
      uncertain.delete(task);
      certain.set(task, sinceMs);
    }
  }

  /** A run that waits is over only once its worker has exited; one that had started, also once that runs nothing. */
  #isCertain(task: Task, listenedMs: number): boolean {
    return this.#facts.runsOf(task.place).every(({ isReported, isOver: isKnown, run }) => {
      if (isReported) return true;
      const isIdle = run.hasStarted && run.instance.wasIdleAfter(run, listenedMs);
      return isOver(run) && (isKnown || isIdle);
    });
  }

  /** No event of the task is expected any more, because none has arrived for too long. */
  givenUp(task: Task): void {
    this.#reportRest(task, () => true);
  }

  forget(task: Task): void {
    const { place } = task;
    this.#reportRest(task, () => true);
    this.#closeAll(place);
    this.#facts.forget(place);
    if (place < this.#names.length) this.#names[place] = undefined;
    this.#places.forget(place);
    this.#roots.forget(place);
    this.#unexpected.certain.delete(task);
    this.#unexpected.uncertain.delete(task);
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
    const outcome = facts !== undefined && wasRedelivered(facts.run) ? 'redelivered' : 'unknown';
    this.#report(task, facts, endOf(outcome, facts?.doubtedMs ?? this.nowMs));
  }

  #report(task: Task, facts: RunFacts | undefined, end: End): void {
    if (facts === undefined || facts.isReported) return;
    facts.isReported = true;
    if (facts.lineage === undefined) facts.lineage = this.#lineageOfMissed(task);
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
      workerSpan: this.#facts.workerSpans.take(place, facts, end),
    };
    const run = finishedRun(ancestry, facts, sent, isSentNew, end, reported);
    const of = isSentNew && hasOtherParent(sent, facts) ? sent.lineage : undefined;
    const sentAncestry = of && this.#ancestry(task, of, this.#parentOf(of, sent?.sentMs));
    this.#listener.onFinished(sentAncestry === undefined ? run : { ...run, sentAncestry });
    this.#close(facts);
    if (sent !== undefined) this.#close(sent);
  }

  /** An event reported the end of a run that had been reported without one; nothing else of it changes. */
  #reportAgain(task: Task, facts: RunFacts, end: End): void {
    if (this.#listener.onEndedAfterAll === undefined) return;
    const sent = this.#facts.sendingOf(task.place, facts);
    const ancestry = this.#ancestry(task, facts.lineage, facts);
    const reported = { reportedMs: this.nowMs, workerSpan: undefined };
    this.#listener.onEndedAfterAll(finishedRun(ancestry, facts, sent, false, end, reported));
  }

  /** @param parentPlace the run of the parent when the task was received; undefined if it was not received */
  #reportAlone(task: Task, sent: SentRecord, parentPlace?: Placed): void {
    if (sent.isReported) return;
    sent.isReported = true;
    // While the id is in use, its span would have the id of the first one.
    if (sent.isAnew && !this.#places.isSentAnew(task.place)) {
      this.#close(sent);
      return;
    }
    this.#decide(task, sent.lineage, sent.name, sent.sentMs, sent.etaMs);
    const parent = this.#parentOf(sent.lineage, sent.sentMs);
    if (parentPlace !== undefined) parent.parentPlace = parentPlace;
    const ancestry = this.#ancestry(task, sent.lineage, parent);
    this.#listener.onFinished(loneSending(ancestry, sent, this.nowMs));
    this.#close(sent);
  }

  /** Reports that a run is open, or that the receipt of a sending is awaited. */
  #open(task: Task, of: RunFacts | SentRecord, isRepeat: boolean): void {
    if (this.#listener.onOpened === undefined) return;
    const uuid = this.#tasks.idOf(task);
    of.openIn = this.#traceOf(task, uuid, of.lineage ?? OWN_ROOT);
    this.#listener.onOpened(of.openIn, isRepeat, this.nowMs);
  }

  /** The id from which its trace is derived; if that is not decided, that of the nearest task above it. */
  #traceOf({ place }: Task, uuid: string, { rootId, parentId }: Lineage): string {
    if (this.#roots.isDecided(place)) return this.#roots.of(place, uuid, rootId).traceRootId;
    const above = [parentId, rootId].map((id) => (id === '' ? undefined : this.#tasks.find(id)?.place));
    return this.#roots.above(above, rootId) ?? (rootId || uuid);
  }

  #close(of: RunFacts | SentRecord): void {
    if (of.openIn === undefined) return;
    this.#listener.onClosed?.(of.openIn, this.nowMs);
    of.openIn = undefined;
  }

  #closeAll(place: number): void {
    for (const facts of this.#facts.runsOf(place)) this.#close(facts);
    for (let sent = this.#facts.newestSending(place); sent !== undefined; sent = sent.next) this.#close(sent);
  }

  #ancestry(task: Task, lineage: Lineage | undefined, places: KnownPlaces): Ancestry {
    const uuid = this.#tasks.idOf(task);
    const own = ancestryOf(uuid, lineage, places);
    const ancestry = inTrace(own, this.#roots.of(task.place, uuid, own.rootId));
    const workersTraceparent = this.#traceparentAbove(ancestry);
    return workersTraceparent === undefined ? ancestry : { ...ancestry, workersTraceparent };
  }

  #traceparentAbove({ uuid, parentId, rootId, traceRootId, beginsTrace, parentTraceRootId }: Ancestry) {
    if (this.#traceparents.size === 0) return undefined;
    // Below a task that began a new trace, the span of the root is in another one.
    const aboveId = beginsTrace ? (parentTraceRootId ?? rootId) : traceRootId;
    for (const id of aboveId === rootId ? [uuid, parentId, rootId] : [uuid, parentId]) {
      const known = this.#traceparentOf(id);
      if (known !== undefined) return known;
    }
    return undefined;
  }

  /** The span in which a worker ran the task with this id, if that is remembered. */
  #traceparentOf(id: string): string | undefined {
    return id.length > REMEMBERED_TEXT_MAX ? undefined : this.#traceparents.get(safeKey(id));
  }

  /** The tasks that this one sends follow it into the trace of the task above it, whose id they do not report. */
  #noteTraceparent(task: Task, lineage: Lineage | undefined): void {
    const { parentId = '', rootId = '' } = lineage ?? {};
    if (this.#traceparents.size === 0 || task.text !== '' || parentId === rootId) return;
    const above = this.#traceparentOf(parentId);
    if (above === undefined) return;
    const uuid = this.#tasks.idOf(task);
    const isKnown = this.#traceparentOf(uuid) !== undefined;
    if (!isKnown && !this.#roots.of(task.place, uuid, rootId).beginsTrace)
      this.#traceparents.set(safeKey(uuid), above);
  }

  /** @param sentMs when the task was sent, or received if that is unknown, epoch ms */
  #parentOf(lineage: Lineage | undefined, sentMs: number | undefined) {
    const parentId = lineage?.parentId ?? '';
    if (parentId === '') return { parent: undefined, parentPlace: FIRST_PLACE, isParentUnknown: false };
    const parent = this.#tasks.find(parentId);
    const parentPlace = parent === undefined ? FIRST_PLACE : this.#places.senderOf(parent.place, sentMs);
    return { parent, parentPlace, isParentUnknown: parent === undefined };
  }

  /** Whether the id is used for another task after the last end, and not for another delivery of the same one. */
  #isIdUsedAgain(task: Task, { sent }: RunFacts, { retries }: HeldEvent): boolean {
    if (!task.over || retries > 0 || this.#names[task.place] === undefined) return false;
    // Celery generates uuids: one that comes again without another `task-sent` was delivered again.
    return task.text !== '' || sent?.isAnew === true;
  }

  /** Remembers what a task reports of its parent, if the receipt of that was missed, as after a restart. */
  #noteRootOf(parent: Task | undefined, lineage: Lineage | undefined): void {
    if (lineage === undefined || lineage.parentId === '' || lineage.rootId === '') return;
    if (lineage.parentId.length > REMEMBERED_TEXT_MAX) return;
    const isMissed = parent === undefined || this.#facts.runsOf(parent.place).at(-1)?.lineage === undefined;
    if (isMissed) this.#rootsOfMissed.set(safeKey(lineage.parentId), lineage.rootId);
  }

  #lineageOfMissed(task: Task): Lineage | undefined {
    if (this.#rootsOfMissed.size === 0) return undefined;
    const uuid = this.#tasks.idOf(task);
    const rootId = this.#rootsOfMissed.get(safeKey(uuid));
    return rootId === undefined ? undefined : this.#facts.kept({ rootId, parentId: '' }).lineage;
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
    const sinceMs = atMs ?? this.nowMs;
    if (lineage === OWN_ROOT) this.#decideOwn(task, sinceMs);
    if (lineage === undefined || lineage === OWN_ROOT || this.#roots.isDecided(task.place)) return;
    const { parent } = this.#parentOf(lineage, sinceMs);
    const times = { atMs: sinceMs, delayMs: Math.max(0, (etaMs ?? sinceMs) - sinceMs) };
    const parentAt = parent === task ? undefined : parent?.place;
    const rootAt = this.#tasks.find(lineage.rootId)?.place;
    this.#roots.decide(task.place, {
      ...lineage,
      ...times,
      uuid: this.#tasks.idOf(task),
      name,
      parentAt,
      rootAt,
    });
  }

  /** Decides the trace of a task that is its own root. An id that can be used again is not enough to name it. */
  #decideOwn(task: Task, sinceMs: number): void {
    const { place, text } = task;
    if (text === '' && !this.#places.isSentAnew(place)) this.#roots.noteItself(place);
    else
      this.#roots.decideOwn(
        place,
        this.#tasks.idOf(task),
        `${this.#listener.service}/${Math.round(sinceMs)}`,
      );
  }
}
