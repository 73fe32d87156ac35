/**
 * Makes the documents under `/details/` out of what a service remembers and what its cluster knows now. In steps, since many runs may
 * be read. Pure: the time is an argument.
 */
import type { OpenRun } from '../cluster/lookup.ts';
import type { Steps } from '../cluster/steps.ts';
import type { Failure, RememberedRun } from '../service/activity/remembered-runs.ts';
import type { ServiceLookup } from '../service/activity/service-lookup.ts';
import { printable, printableLines } from '../text/printable.ts';
import type {
  FailureRow,
  FoundDocument,
  FoundTask,
  Head,
  Hour,
  OpenRow,
  QueueDocument,
  QueueHour,
  Remembered,
  RowDocument,
  RunRow,
  Share,
  TaskDocument,
  TaskHour,
  TreeRow,
  WorkerDocument,
  WorkerExitRow,
} from './details.ts';
import { agoOf, known, rounded, seconds, timeOf } from './document-values.ts';
import { inTreeOrder } from './tree-order.ts';

/** How many rows each list has at most. */
const RUNS_SHOWN = 50;
const FAILURES_SHOWN = 10;
const OPEN_SHOWN = 100;
const EXITS_SHOWN = 20;
const SHARES_SHOWN = 20;
const TREE_SHOWN = 500;
/** How many runs of a workflow are ordered as a tree, the newest ones. */
const TREE_MAX = 5000;

export interface LookedUp {
  readonly time: Date;
  readonly service: string;
  readonly lookup: ServiceLookup;
}

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
  const runs: RunRow[] = [];
  const workers = new Map<string, number>();
  const note = (run: RememberedRun): void => {
    runs.push(runRow(run));
    workers.set(run.run.worker, (workers.get(run.run.worker) ?? 0) + 1);
  };
  yield* lookup.runs.each('queue', name, note, RUNS_SHOWN);
  return {
    ...headOf(of, name),
    hour: hour === undefined ? null : queueHour(hour, lookup.nowMs, time),
    consumers: consumers === undefined ? null : consumers.map(printable),
    runs,
    workers: [...workers]
      .toSorted(([, one], [, other]) => other - one)
      .map(([worker, count]) => ({
        ...{ name: printable(worker), runs: count },
        exit: exitsOf(worker, of)[0] ?? null,
      })),
  };
}

function* workerDocument(of: LookedUp, name: string): Steps<WorkerDocument> {
  const { lookup } = of;
  const { total, oldest } = yield* lookup.runningOn(name, OPEN_SHOWN);
  return {
    ...headOf(of, name),
    running: { total, rows: oldest.map((run) => openRow(run, of)) },
    queues: lookup.queuesOf(name)?.map(printable) ?? null,
    exits: exitsOf(name, of),
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

function* lastRuns({ runs }: ServiceLookup, by: 'task' | 'worker', name: string): Steps<readonly RunRow[]> {
  const rows: RunRow[] = [];
  yield* runs.each(by, name, (run) => rows.push(runRow(run)), RUNS_SHOWN);
  return rows;
}

/** The newest first. */
function exitsOf(worker: string, { lookup, time }: LookedUp): readonly WorkerExitRow[] {
  return lookup
    .exitsOf(worker)
    .slice(0, EXITS_SHOWN)
    .map(({ reason, atMs }) => ({ at: agoOf(time, lookup.nowMs - atMs), reason }));
}

type Reading<Name extends 'hourOfTask' | 'hourOfQueue'> = NonNullable<ReturnType<ServiceLookup[Name]>>;

/** Computes the time from its age, because the clock of a recording differs from that of the document. */
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

/** Redacts the texts only now, because most failures are never shown. */
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
    age_s: ageMs === undefined ? null : seconds(ageMs),
  };
}

function sharesOf(counts: ReadonlyMap<string, number>): readonly Share[] {
  return [...counts]
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, SHARES_SHOWN)
    .map(([name, runs]) => ({ name: printable(name), runs }));
}

/** @param own the runs with the id that was looked for, which are always shown */
function treeRows(own: readonly RememberedRun[], others: readonly RememberedRun[]): readonly TreeRow[] {
  const keyOf = (id: string, { retries, delivery }: RememberedRun['parentPlace']): string =>
    `${id} ${retries} ${delivery}`;
  const runs = new Map([...own, ...others].map((run) => [keyOf(run.id, run), run]));
  const nodes = [...runs].map(([id, run]) => ({
    id,
    // A retry has the same parent as the attempt before it.
    parentId: run.parentId === run.id ? '' : keyOf(run.parentId, run.parentPlace),
    fromMs: run.sentMs ?? run.receivedMs ?? run.startedMs ?? run.endedMs ?? 0,
    run,
  }));
  const rows = inTreeOrder(nodes);
  const sought = new Set(own.map(({ id }) => id));
  const later = rows.slice(TREE_SHOWN).filter(({ node: { run } }) => sought.has(run.id));
  return [...rows.slice(0, TREE_SHOWN), ...later].map(({ node: { run }, depth }) => ({
    ...{ depth, id: printable(run.id), task: printable(run.run.task), worker: printable(run.run.worker) },
    ...{ outcome: run.outcome, error_type: printable(run.errorType), retries: run.retries },
    ...{ from: timeOf(run.sentMs ?? run.receivedMs), started: timeOf(run.startedMs) },
    ended: timeOf(run.endedMs),
  }));
}
