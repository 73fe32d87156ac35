/** Builds the facts that are reported to a listener of finished runs. Pure. */
import type { Lineage } from '../../celery/event.ts';
import type { Run, Sending } from '../../cluster/tasks/run.ts';
import type { EndOfRun } from '../../cluster/tasks/run-listener.ts';
import type { HeldEvent, Task } from '../../cluster/tasks/task.ts';
import type {
  Ancestry,
  FinishedOutcome,
  FinishedRun,
  LoneSending,
  SentFacts,
  WorkerSpan,
} from './finished.ts';
import type { RetrySent, RunFacts, SentRecord } from './run-facts.ts';
import { linkOf, type Placed, placeOf } from './run-places.ts';

/** The lineage of a task that is its own root. Most tasks are; sharing this object saves the texts of their ids. */
export const OWN_ROOT: Lineage = { rootId: '', parentId: '' };

/** The end of a run, reported by an event or decided when the cluster settles. */
export interface End extends Omit<EndOfRun, 'outcome'> {
  readonly outcome: FinishedOutcome;
}

/** The end of a run without an end event. */
export function endOf(outcome: FinishedOutcome, endedMs: number | undefined): End {
  return { outcome, endedMs, errorType: '', runtimeS: undefined, error: undefined, result: '' };
}

type InTrace = 'traceRootId' | 'beginsTrace' | 'parentTraceRootId';

export interface KnownPlaces {
  readonly parentPlace: Placed;
  readonly isParentUnknown: boolean;
  readonly first?: Placed | undefined;
}

export function ancestryOf(
  uuid: string,
  lineage: Lineage | undefined,
  { parentPlace, isParentUnknown, first }: KnownPlaces,
): Omit<Ancestry, InTrace> {
  const { rootId = '', parentId = '' } = lineage === OWN_ROOT ? { rootId: uuid } : (lineage ?? {});
  const ancestry = { uuid, rootId, parentId, parentPlace: placeOf(parentPlace) };
  const known = isParentUnknown ? { ...ancestry, isParentUnknown } : ancestry;
  return first === undefined ? known : { ...known, first: placeOf(first) };
}

/** Adds the trace of the task to its ancestry. */
export function inTrace(own: Omit<Ancestry, InTrace>, trace: Pick<Ancestry, InTrace>): Ancestry {
  const { traceRootId, beginsTrace, parentTraceRootId } = trace;
  const ancestry = { ...own, traceRootId, beginsTrace };
  return parentTraceRootId === undefined ? ancestry : { ...ancestry, parentTraceRootId };
}

export function loneSending(ancestry: Ancestry, sent: SentRecord, reportedMs: number): LoneSending {
  return { kind: 'sending', ...ancestry, sent: sentFacts(sent), reportedMs };
}

function sentFacts(sent: SentRecord): SentFacts {
  const { name, queue, exchange, routingKey, sender, sentMs, etaMs, expiresMs, arguments: texts } = sent;
  const { args = '', kwargs = '' } = texts ?? {};
  const facts = { name, queue, exchange, routingKey, sender, sentMs, etaMs, expiresMs, args, kwargs };
  return sent.isAnew ? { ...facts, isAnew: true } : facts;
}

export function retrySentAs({ sender, sentMs, implausibleTime }: Sending): RetrySent {
  return { sender, sentMs: implausibleTime ? undefined : sentMs };
}

/** A retry has the name and the destination of its task. */
function retrySentFacts(
  { retrySent, run, place }: RunFacts,
  sent: SentRecord | undefined,
): SentFacts | undefined {
  if (retrySent === undefined) return undefined;
  const { exchange = '', routingKey = '' } = sent ?? {};
  const { task: name, queue } = run.identity;
  const times = { sentMs: retrySent.sentMs, etaMs: undefined, expiresMs: undefined };
  const { sender } = retrySent;
  return {
    name,
    queue,
    exchange,
    routingKey,
    sender,
    ...times,
    args: '',
    kwargs: '',
    retries: placeOf(place).retries,
  };
}

/** The fields are listed one by one because an object spread is fast only in first position. */
export function finishedRun(
  ancestry: Ancestry,
  facts: RunFacts,
  sent: SentRecord | undefined,
  isSentNew: boolean,
  end: End,
  { reportedMs, workerSpan }: { readonly reportedMs: number; readonly workerSpan: WorkerSpan | undefined },
): FinishedRun {
  const { run, receivedMs, queueTimeS, waitTimeS, prefetchTimeS } = facts;
  const { args = '', kwargs = '' } = facts.arguments ?? sent?.arguments ?? {};
  const { retries, delivery } = placeOf(facts.place);
  const { outcome, errorType, endedMs, runtimeS, error, result } = end;
  const finished: FinishedRun = {
    ...ancestry,
    kind: 'run',
    retries,
    delivery,
    outcome,
    errorType,
    endedMs,
    runtimeS,
    error,
    result,
    run: run.identity,
    sent: sent && sentFacts(sent),
    isSentNew,
    previous: linkOf(facts.previous),
    receivedMs,
    startedMs: run.hasStarted ? run.plausibleSinceMs : undefined,
    reportedMs,
    queueTimeS,
    waitTimeS,
    prefetchTimeS,
    args,
    kwargs,
  };
  const retrySent = retrySentFacts(facts, sent);
  const whole = retrySent === undefined ? finished : { ...finished, retrySent };
  return workerSpan === undefined ? whole : { ...whole, workerSpan };
}

/**
 * Whether the sending belongs to another run, because the task replaced itself before its own receipt was applied. A sending
 * under a shadow name is no such case: it reports the same parent as the receipt.
 */
export function isOfAnother(
  sent: SentRecord | undefined,
  name: string,
  receipt: HeldEvent | undefined,
): boolean {
  const [one, other] = [sent?.lineage, receipt?.extras?.lineage];
  return sent?.name !== name && one !== undefined && other !== undefined && one.parentId !== other.parentId;
}

const STARTED_LATE_MS = 50;

/** Identifies which run of the task begins. `isBefore`: the run may precede a retry that is waiting. */
export function begunWith(
  { runs }: Task,
  run: Run,
  event: HeldEvent | undefined,
  sending: Sending | undefined,
): { readonly retries: number | undefined; readonly isBefore: boolean } {
  let isAnyWaiting = false;
  for (let other = runs; other !== undefined; other = other.next)
    isAnyWaiting ||= other !== run && !other.hasStarted;
  return { retries: retriesOf(event, sending), isBefore: event?.outcome === 'retried' && isAnyWaiting };
}

/** The number of retries of a run that begins with the event; undefined if no event reports it. */
function retriesOf(event: HeldEvent | undefined, sending: Sending | undefined): number | undefined {
  if (event?.type === 'task-received') return event.retries;
  // If the receipt was missed, the known sending may be that of the retry which this run sent itself.
  return event !== undefined && isSentBy(sending, event) ? undefined : sending?.retries;
}

/** Whether the run that the event belongs to may have sent the retry itself. Starts are reported some ms late. */
function isSentBy(sending: Sending | undefined, event: HeldEvent): boolean {
  return sending !== undefined && sending.retries > 0 && sending.sentMs > event.timestampMs - STARTED_LATE_MS;
}

/** Whether no end can be expected any more. A waiting run may still start as long as its worker process exists. */
export function isOver({ isExpected, standing, hasStarted, instance }: Run): boolean {
  if (isExpected || standing === 'lost') return false;
  return hasStarted || instance.hasExited || instance.dropped !== undefined;
}

/** Whether the message of the run went back to its queue: its worker died while it waited, or while another process had the task. */
export function wasRedelivered({ standing, instance }: Run): boolean {
  return standing === 'gone' && instance.dropped !== 'evicted';
}

/** Whether the sending has another parent than the run, as a retry does. */
export function hasOtherParent(sent: SentRecord, { lineage = OWN_ROOT }: RunFacts): boolean {
  return sent.lineage !== undefined && sent.lineage.parentId !== lineage.parentId;
}
