/**
 * The documents of one task, queue or worker of a service, and of one task id, version 1: what the pages of each show beyond the
 * rows of the service. Times are ISO 8601; durations are in seconds, and null if not known. They are made in steps, since
 * many runs may be looked through. Pure: the time is an argument.
 */
import type { OpenRun } from '../cluster/lookup.ts';
import type { Steps } from '../cluster/steps.ts';
import type { Failure, RememberedRun } from '../service/activity/remembered-runs.ts';
import type { ServiceLookup } from '../service/activity/service-lookup.ts';
import { printable, printableLines } from '../text/printable.ts';
import { inTreeOrder } from './tree-order.ts';

/** What was counted in each minute of the last hour. All lists have the same length, the oldest minute first; the last is not over. */
export interface Hour {
  readonly step_s: number;
  /** When the first minute began. */
  readonly since: string;
}

export interface TaskHour extends Hour {
  /** Runs that ended so in each minute; null: nothing was received in it, not even a heartbeat. */
  readonly succeeded: readonly (number | null)[];
  readonly failed: readonly (number | null)[];
  readonly retried: readonly (number | null)[];
  readonly lost: readonly (number | null)[];
  /** Null: no run ended in that minute, or its runtime is not known. */
  readonly runtime_p50_s: readonly (number | null)[];
  readonly runtime_p95_s: readonly (number | null)[];
}

export interface QueueHour extends Hour {
  /** Runs of its tasks that started in each minute; null as above. */
  readonly started: readonly (number | null)[];
  /** Messages that waited in the broker, at the end of the minute; null if it was not polled. */
  readonly waiting: readonly (number | null)[];
  readonly oldest_age_s: readonly (number | null)[];
  /** From the sending to the start. */
  readonly wait_p50_s: readonly (number | null)[];
  readonly wait_p95_s: readonly (number | null)[];
}

/** A run that is over. */
export interface RunRow {
  readonly id: string;
  readonly task: string;
  readonly queue: string;
  readonly worker: string;
  /** As on the metrics and spans: `succeeded`, `failed`, `retried`, `lost` …; `unknown` if no end was reported. */
  readonly outcome: string;
  /** The class of the exception; '' if there is none. */
  readonly error_type: string;
  /** How often the task had been retried before. */
  readonly retries: number;
  readonly received: string | null;
  readonly started: string | null;
  readonly ended: string | null;
  readonly wait_s: number | null;
  readonly runtime_s: number | null;
}

/** A run that failed or is retried, with its texts, redacted as those of log records are. */
export interface FailureRow extends RunRow {
  readonly message: string;
  /** '' if it was not reported. */
  readonly stacktrace: string;
}

/** A run that is not over, or a sending that no worker has received. */
export interface OpenRow {
  readonly id: string;
  readonly task: string;
  readonly queue: string;
  /** '' if no worker has it. */
  readonly worker: string;
  /** `sent`: not received yet; `scheduled`: its ETA is in the future; `waiting`: in the prefetch of its worker; `doubtful`: its end may have been missed. */
  readonly stage: 'sent' | 'scheduled' | 'waiting' | 'running' | 'doubtful';
  readonly retries: number;
  /** Since when it is in this stage. */
  readonly since: string | null;
  readonly age_s: number | null;
}

export interface Share {
  readonly name: string;
  readonly runs: number;
}

/** How many runs of the service are remembered, and how many may be. */
export interface Remembered {
  readonly runs: number;
  readonly limit: number;
}

interface Head {
  readonly version: 1;
  readonly time: string;
  readonly service: string;
  readonly name: string;
  readonly remembered: Remembered;
}

export interface TaskDocument extends Head {
  /** Null if the task has no row of its own. */
  readonly hour: TaskHour | null;
  /** The newest first, as all runs here. */
  readonly failures: readonly FailureRow[];
  readonly runs: readonly RunRow[];
  /** Of the runs that are remembered, the most frequent first. */
  readonly queues: readonly Share[];
  readonly workers: readonly Share[];
}

export interface QueueDocument extends Head {
  readonly hour: QueueHour | null;
  /** Nodenames of the workers that reported it; null if workers are not asked. */
  readonly consumers: readonly string[] | null;
  readonly runs: readonly RunRow[];
}

export interface WorkerExitRow {
  readonly at: string;
  readonly reason: 'goodbye' | 'silence' | 'replaced' | 'restarted';
}

export interface WorkerDocument extends Head {
  /** The oldest first. */
  readonly running: { readonly total: number; readonly rows: readonly OpenRow[] };
  /** Null if it has not reported them. */
  readonly queues: readonly string[] | null;
  readonly exits: readonly WorkerExitRow[];
  readonly runs: readonly RunRow[];
}

/** A run that is over, in the order in which a tree is drawn. */
export interface TreeRow
  extends Pick<RunRow, 'id' | 'task' | 'worker' | 'outcome' | 'error_type' | 'retries'> {
  /** 0 for the root. */
  readonly depth: number;
  /** When it was sent, or received; null if neither is known. */
  readonly from: string | null;
  readonly started: string | null;
  /** Null if its end has no plausible time. */
  readonly ended: string | null;
}

/** What is known of a task id in one service. */
export interface FoundTask {
  readonly service: string;
  readonly open: readonly OpenRow[];
  readonly runs: readonly RunRow[];
  readonly failures: readonly FailureRow[];
  /** The runs of its workflow that are over and remembered: the first ones, and its own. */
  readonly tree: readonly TreeRow[];
  /** How many there are. */
  readonly tree_total: number;
  readonly remembered: Remembered;
}

/** What is known of a task id in all services. */
export interface FoundDocument {
  readonly version: 1;
  readonly time: string;
  readonly id: string;
  /** Those that know it. */
  readonly found: readonly FoundTask[];
  /** Of all services. */
  readonly remembered: Remembered;
}

/** Rows of each list. */
const RUNS_SHOWN = 50;
const FAILURES_SHOWN = 10;
const OPEN_SHOWN = 100;
const EXITS_SHOWN = 20;
const SHARES_SHOWN = 20;
const TREE_SHOWN = 500;
/** Runs that are put in order: the newest ones of a workflow. */
const TREE_MAX = 5000;
const DEPTH_MAX = 20;

export interface LookedUp {
  readonly time: Date;
  readonly service: string;
  readonly lookup: ServiceLookup;
}

export type RowDocument = TaskDocument | QueueDocument | WorkerDocument;

export function rowDocument(
  of: LookedUp,
  kind: 'task' | 'queue' | 'worker',
  name: string,
): Steps<RowDocument> {
  switch (kind) {
    case 'task':
      return taskDocument(of, name);
    case 'queue':
      return queueDocument(of, name);
    case 'worker':
      return workerDocument(of, name);
  }
}

function* taskDocument(of: LookedUp, name: string): Steps<TaskDocument> {
  const { lookup, time } = of;
  const { queue: queues, worker: workers } = yield* lookup.runs.namesOf(name);
  const hour = lookup.hourOfTask(name, lookup.nowMs);
  const failures = lookup.runs.failuresOf(name).slice(0, FAILURES_SHOWN);
  return {
    ...headOf(of, name),
    hour: hour === undefined ? null : taskHour(hour, lookup.nowMs, time),
    failures: failures.map((failure) => failureRow(failure, lookup)),
    runs: yield* lastRuns(lookup, 'task', name),
    queues: sharesOf(queues),
    workers: sharesOf(workers),
  };
}

function* queueDocument(of: LookedUp, name: string): Steps<QueueDocument> {
  const { lookup, time } = of;
  const hour = lookup.hourOfQueue(name, lookup.nowMs);
  const consumers = yield* lookup.consumersOf(name);
  return {
    ...headOf(of, name),
    hour: hour === undefined ? null : queueHour(hour, lookup.nowMs, time),
    consumers: consumers === undefined ? null : consumers.map(printable),
    runs: yield* lastRuns(lookup, 'queue', name),
  };
}

function* workerDocument(of: LookedUp, name: string): Steps<WorkerDocument> {
  const { lookup, time } = of;
  const { total, oldest } = yield* lookup.runningOn(name, OPEN_SHOWN);
  return {
    ...headOf(of, name),
    running: { total, rows: oldest.map((run) => openRow(run, of)) },
    queues: lookup.queuesOf(name)?.map(printable) ?? null,
    exits: lookup
      .exitsOf(name)
      .slice(0, EXITS_SHOWN)
      .map(({ reason, atMs }) => ({ at: agoOf(time, lookup.nowMs - atMs), reason })),
    runs: yield* lastRuns(lookup, 'worker', name),
  };
}

/** @returns undefined if the service knows nothing of the id */
export function* foundTask(of: LookedUp, id: string): Steps<FoundTask | undefined> {
  const { service, lookup } = of;
  const open = lookup.openRuns(id);
  const own: RememberedRun[] = [];
  yield* lookup.runs.each('id', id, (run) => own.push(run), RUNS_SHOWN);
  const [last] = own;
  if (last === undefined && open.length === 0) return undefined;
  const others: RememberedRun[] = [];
  const root = last?.rootId ?? '';
  const inWorkflow =
    root === '' ? 0 : yield* lookup.runs.each('rootId', root, (run) => others.push(run), TREE_MAX);
  return {
    service: printable(service),
    open: open.map((run) => openRow(run, of)),
    runs: own.map(runRow),
    failures: own.flatMap((run) => {
      const failure = lookup.runs.failureOf(run);
      return failure === undefined ? [] : [failureRow(failure, lookup)];
    }),
    tree: treeRows(own, others),
    tree_total: Math.max(own.length, inWorkflow),
    remembered: rememberedOf(lookup),
  };
}

export function foundDocument(
  id: string,
  time: Date,
  found: readonly FoundTask[],
  lookups: readonly ServiceLookup[],
): FoundDocument {
  const all = lookups.map(rememberedOf);
  const remembered = {
    runs: all.reduce((sum, { runs }) => sum + runs, 0),
    limit: all.reduce((sum, { limit }) => sum + limit, 0),
  };
  return { version: 1, time: time.toISOString(), id: printable(id), found, remembered };
}

function headOf({ time, service, lookup }: LookedUp, name: string): Head {
  return {
    ...{ version: 1, time: time.toISOString(), service: printable(service), name: printable(name) },
    remembered: rememberedOf(lookup),
  };
}

function rememberedOf({ runs: { size, limit } }: ServiceLookup): Remembered {
  return { runs: size, limit };
}

function* lastRuns(
  { runs }: ServiceLookup,
  by: 'task' | 'queue' | 'worker',
  name: string,
): Steps<readonly RunRow[]> {
  const rows: RunRow[] = [];
  yield* runs.each(by, name, (run) => rows.push(runRow(run)), RUNS_SHOWN);
  return rows;
}

type Reading<Name extends 'hourOfTask' | 'hourOfQueue'> = NonNullable<ReturnType<ServiceLookup[Name]>>;

/** A recording has a time of its own: ages are what counts. */
function hourOf({ sinceMs }: { readonly sinceMs: number }, nowMs: number, time: Date): Hour {
  return { step_s: 60, since: agoOf(time, nowMs - sinceMs) };
}

function taskHour(hour: Reading<'hourOfTask'>, nowMs: number, time: Date): TaskHour {
  return {
    ...hourOf(hour, nowMs, time),
    ...{ succeeded: hour.column('succeeded').map(known), failed: hour.column('failed').map(known) },
    ...{ retried: hour.column('retried').map(known), lost: hour.column('lost').map(known) },
    runtime_p50_s: hour.column('p50').map(rounded),
    runtime_p95_s: hour.column('p95').map(rounded),
  };
}

function queueHour(hour: Reading<'hourOfQueue'>, nowMs: number, time: Date): QueueHour {
  return {
    ...hourOf(hour, nowMs, time),
    started: hour.column('started').map(known),
    waiting: hour.column('waiting').map(known),
    oldest_age_s: hour.column('oldest').map(rounded),
    wait_p50_s: hour.column('p50').map(rounded),
    wait_p95_s: hour.column('p95').map(rounded),
  };
}

function runRow({ id, run, outcome, errorType, retries, ...it }: RememberedRun): RunRow {
  return {
    id: printable(id),
    ...{ task: printable(run.task), queue: printable(run.queue), worker: printable(run.worker) },
    ...{ outcome, error_type: printable(errorType), retries },
    ...{ received: timeOf(it.receivedMs), started: timeOf(it.startedMs), ended: timeOf(it.endedMs) },
    ...{ wait_s: rounded(it.waitTimeS), runtime_s: rounded(it.runtimeS) },
  };
}

/** The texts are redacted only here: most failures are never looked at. */
function failureRow({ of, error }: Failure, { redacted }: ServiceLookup): FailureRow {
  const { message, stacktrace } = redacted(error);
  return { ...runRow(of), message: printable(message), stacktrace: printableLines(stacktrace) };
}

function openRow({ sinceMs, stage, retries, ...it }: OpenRun, { lookup }: LookedUp): OpenRow {
  const ageMs = sinceMs === undefined ? undefined : Math.max(0, lookup.nowMs - sinceMs);
  return {
    ...{ id: printable(it.id), task: printable(it.task), queue: printable(it.queue) },
    ...{ worker: printable(it.worker), stage, retries },
    since: timeOf(sinceMs),
    age_s: ageMs === undefined ? null : Math.round(ageMs) / 1000,
  };
}

function sharesOf(counts: ReadonlyMap<string, number>): readonly Share[] {
  return [...counts]
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, SHARES_SHOWN)
    .map(([name, runs]) => ({ name: printable(name), runs }));
}

/** @param own what was looked for, which is shown in any case */
function treeRows(own: readonly RememberedRun[], others: readonly RememberedRun[]): readonly TreeRow[] {
  const keyOf = (id: string, { retries, delivery }: RememberedRun['parentPlace']): string =>
    `${id} ${retries} ${delivery}`;
  const runs = new Map([...own, ...others].map((run) => [keyOf(run.id, run), run]));
  const nodes = [...runs].map(([id, run]) => ({
    id,
    // A retry stands beside the attempt before it.
    parentId: run.parentId === run.id ? '' : keyOf(run.parentId, run.parentPlace),
    fromMs: run.sentMs ?? run.receivedMs ?? run.startedMs ?? run.endedMs ?? 0,
    run,
  }));
  const rows = inTreeOrder(nodes, DEPTH_MAX);
  const sought = new Set(own.map(({ id }) => id));
  const later = rows.slice(TREE_SHOWN).filter(({ node: { run } }) => sought.has(run.id));
  return [...rows.slice(0, TREE_SHOWN), ...later].map(({ node: { run }, depth }) => ({
    ...{ depth, id: printable(run.id), task: printable(run.run.task), worker: printable(run.run.worker) },
    ...{ outcome: run.outcome, error_type: printable(run.errorType), retries: run.retries },
    ...{ from: timeOf(run.sentMs ?? run.receivedMs), started: timeOf(run.startedMs) },
    ended: timeOf(run.endedMs),
  }));
}

/** Null if it is not known, or is no time that a calendar has. */
function timeOf(ms: number | undefined): string | null {
  const time = new Date(ms ?? Number.NaN);
  return Number.isNaN(time.getTime()) ? null : time.toISOString();
}

/** The time of what happened so long ago. */
function agoOf(time: Date, ageMs: number): string {
  return new Date(time.getTime() - ageMs).toISOString();
}

function known(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}

function rounded(value: number | undefined): number | null {
  return value === undefined || Number.isNaN(value) ? null : Number(value.toPrecision(3));
}
