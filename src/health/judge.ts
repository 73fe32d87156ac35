/**
 * Decides what the facts about a service mean: returns findings of the table of symptoms (symptoms.ts). The status, the
 * page and `top` use it while a bridge runs, and `check` when it ends; both add only their own observations. Pure: the
 * time is an argument.
 */
import type { QueueAge, WorkerCounts } from '../cluster/view-counts.ts';
import type { SelfEvent, SessionEndKind } from '../self/self-event.ts';
import type { TroubledTask } from '../service/activity/troubles.ts';
import type { ServiceState } from '../service/service-state.ts';
import type { ExportAttempt, Exported, ServiceHealth } from './service-health.ts';
import { skipped } from './skipped-commands.ts';
import { type Finding, finding, findingAbout, inTableOrder, type SymptomCode, someOf } from './symptoms.ts';

/** The facts about a service at a moment. */
export interface Facts {
  readonly health: ServiceHealth;
  /** By the monotonic clock of `health`. */
  readonly nowMs: number;
  /** Undefined if the facts are about the bridge itself. */
  readonly state: Judged | undefined;
  /** How long a service may be without any worker until that is a problem, and how long it has been observed. */
  readonly unseenMs: number;
  readonly observedMs: number;
  /** The facts that only a check observes. */
  readonly checked?: Checked;
}

type Judged = Pick<
  ServiceState,
  'phase' | 'workers' | 'formerWorkers' | 'queues' | 'unseen' | 'old' | 'periodic' | 'troubles'
> & { readonly events?: Pick<ServiceState['events'], 'lagMs'> };

export interface Checked {
  /** Workers that ran tasks and sent no task events. */
  readonly withoutTaskEvents: readonly string[];
  /** How many ms the broker has not replied; undefined if that is not too long. */
  readonly silentMs: number | undefined;
  /** Whether some workers are beyond the limit, so that they may be up unnoticed. */
  readonly hasUnwatched: boolean;
  /** Where there are signs of other workers; undefined if there are none. */
  readonly elsewhere: string | undefined;
  /** Whether the last command reached a worker, even if it did not reply. */
  readonly reachesWorkers: boolean;
}

/** Losses, evictions and errors count as current problems for this long. */
const RECENT_MS = 10 * 60_000;
/** Fewer failed exports in a row are no problem: the backend may be restarting. */
const EXPORT_FAILURES_MIN = 2;
/** How many names a finding lists. */
const NAMES_MAX = 5;
/** Up to this many newly failing tasks get a finding each. */
const FIRST_FAILURES_MAX = 3;
/** Within this many seconds, all workers may be away: they are back by then if they are deployed anew. */
const RESTART_S = 60;
/** The limits above which something is a problem, as in the shipped alerts (dashboards/rules/alerts.yaml). */
export const THRESHOLDS = {
  failedShare: 0.1,
  failedAtLeast: 3,
  waitsS: 600,
  runsS: 3600,
  crashesAtLeast: 3,
  lagS: 30,
} as const;
const RECORDING = 'recording:';
/** The reason of readable events that are dropped. */
export const TOO_FAST = 'arrived-too-fast';

const ENDS: Readonly<Record<SessionEndKind, SymptomCode | undefined>> = {
  unreachable: 'broker-unreachable',
  refused: 'broker-refused',
  lost: 'connection-lost',
  malformed: 'broker-malformed',
  // The end of a session with a recording that cannot be replayed.
  unusable: 'broker-refused',
  stopped: undefined,
  finished: undefined,
};

const SIGNALS: Readonly<Record<Exported, string>> = {
  metrics: 'metrics',
  traces: 'spans',
  logs: 'log records',
};

/** @returns the problems, and what is unknown, in the order of the table of symptoms */
export function judge(facts: Facts): readonly Finding[] {
  const { health, nowMs } = facts;
  const ofWorkers = workers(facts);
  return inTableOrder([
    ...broker(facts),
    ...ofWorkers,
    ...taskEvents(facts),
    ...deaf(facts),
    ...skipped(health),
    ...tasks(facts),
    ...stale(facts),
    // Without any worker, it is no news that no queue has consumers.
    ...(ofWorkers.some(({ code }) => code === 'workers-gone') ? [] : unconsumed(facts)),
    ...expiring(facts),
    ...polls(facts),
    ...losses(health, nowMs),
    ...ownLosses(facts),
    ...[...health.exports].flatMap(([signal, attempt]) => exportFindings(signal, attempt)),
  ]);
}

function broker({ health, state, checked }: Facts): readonly Finding[] {
  const { failures, broker = '', blocked, publishRefused, instances = 1 } = health;
  const { silentMs } = checked ?? {};
  return [
    ...[...failures.values()].flatMap((ended) => sessionEnd(ended, state?.phase === 'waiting')),
    ...(silentMs === undefined
      ? []
      : [finding('broker-silent', { broker, seconds: Math.round(silentMs / 1000) })]),
    ...(blocked === undefined ? [] : [finding('publishers-blocked', { broker, reason: blocked })]),
    ...(publishRefused === undefined ? [] : [finding('publishing-refused', { reason: publishRefused })]),
    ...(instances > 1 ? [finding('exported-twice', { count: instances })] : []),
  ];
}

/** @param isAway whether the service has not connected since */
function sessionEnd(
  { broker, reason, end, isTls }: SelfEvent<'broker-session-ended'>,
  isAway: boolean,
): readonly Finding[] {
  const code = end === 'unreachable' && isTls === true ? 'broker-untrusted' : ENDS[end];
  if (code === undefined) return [];
  return [finding(code, { broker, reason }, isAway ? 'down' : undefined)];
}

/** Finds silent, gone and missing workers; nothing while the broker is away, since a change may have been missed. */
function workers(facts: Facts): readonly Finding[] {
  const { health, state, checked, unseenMs, observedMs } = facts;
  const { eventsMissing } = health;
  const { phase, workers, formerWorkers } = state ?? {};
  const former = workers !== undefined && workers.known > 0 ? workers : formerWorkers;
  // If known workers are gone, that is why no event arrives.
  if (eventsMissing !== undefined && (former === undefined || (workers?.up ?? 0) > 0))
    return [finding('no-workers', { seconds: Math.round(eventsMissing.forMs / 1000) })];
  if (phase !== 'listening' || workers === undefined) return [];
  if (workers.up > 0) return findingAbout('workers-silent', workers.silent, workers.silentCount);
  // Workers that are not watched may be up.
  if (checked?.hasUnwatched === true || checked?.silentMs !== undefined) return [];
  const { polled = 0, waiting } = state?.queues ?? {};
  const isRestart = checked === undefined && workers.quietS < RESTART_S;
  if (former !== undefined) return goneWorkers(former, polled > 0 ? waiting : undefined, isRestart);
  return observedMs < unseenMs ? [] : [neverSeen(facts)];
}

/**
 * Workers that sent `worker-offline` are a problem only if messages wait for them.
 * @param waiting how many messages wait; undefined if unknown
 * @param isRestart whether new workers may follow at once
 */
function goneWorkers(
  { gone: names, known, leftCount }: WorkerCounts,
  waiting: number | undefined,
  isRestart: boolean,
): readonly Finding[] {
  if (leftCount === known && isRestart) return [];
  if (leftCount < known || (waiting ?? 0) > 0) {
    const workers = someOf(names, NAMES_MAX, known);
    const messages = (waiting ?? 0) > 0 ? `, and ${waiting} messages wait` : '';
    const worker = names.slice(0, NAMES_MAX);
    return [finding('workers-gone', { workers, waiting: messages }, undefined, { worker })];
  }
  return waiting === undefined
    ? [finding('workers-left', {}, 'unknown')]
    : [finding('workers-left', { waiting: ', and no messages wait' })];
}

/** If all workers are deaf, no tasks are executed, so the grade is `down`. */
function deaf({ health, state }: Facts): readonly Finding[] {
  const { size } = health.deaf;
  const isAll = size >= (state?.workers?.up ?? Number.POSITIVE_INFINITY);
  return findingAbout('worker-deaf', [...health.deaf], size, isAll ? 'down' : 'degraded');
}

function unconsumed({ state }: Facts): readonly Finding[] {
  if (state?.phase !== 'listening') return [];
  return (state.queues?.unconsumed ?? []).map((queue) => finding('queue-without-consumers', { ...queue }));
}

function expiring({ state }: Facts): readonly Finding[] {
  const count = state?.phase === 'listening' ? (state.queues?.expiring ?? 0) : 0;
  return count > 0 ? [finding('visibility-expires', { count })] : [];
}

/** Finds troubles with tasks in the last minutes; none while the broker is away, since they would be out of date. */
function tasks({ health, state, checked }: Facts): readonly Finding[] {
  if (state === undefined || state.phase === 'waiting') return [];
  const { troubles, old } = state;
  const minutes = Math.max(1, Math.round((troubles?.spanMs ?? 0) / 60_000));
  const aged = ({ queue, ageS }: QueueAge) => ({ queue, minutes: Math.floor(ageS / 60) });
  const { waitsS, runsS, crashesAtLeast } = THRESHOLDS;
  // A worker without task events has not lost them.
  const { workers: withoutTaskEvents = [], more = 0 } = health.taskEventsMissing ?? {};
  const lacksTaskEvents = (worker: string): boolean =>
    more > 0 || withoutTaskEvents.includes(worker) || checked?.withoutTaskEvents.includes(worker) === true;
  return [
    ...(troubles?.tasks ?? []).flatMap((task) => taskFindings(task, minutes)),
    // For a check, every failure is the first one it sees.
    ...(checked === undefined ? firstFailures(troubles?.tasks ?? []) : []),
    ...(troubles?.crashes ?? [])
      .filter(({ count }) => count >= crashesAtLeast)
      .map((crashes) => finding('worker-crashes', { ...crashes })),
    ...(troubles?.eventsLost ?? [])
      .filter(({ worker }) => !lacksTaskEvents(worker))
      .map((lost) => finding('events-lost', { ...lost })),
    ...(old?.waiting ?? [])
      .filter(({ ageS }) => ageS > waitsS)
      .map((age) => finding('task-waits-long', aged(age))),
    ...(old?.running ?? [])
      .filter(({ ageS }) => ageS > runsS)
      .map((age) => finding('task-runs-long', aged(age))),
  ];
}

/** Finds tasks without a recent success. Before the first success, the time counts from the start. */
function stale({ state, observedMs }: Facts): readonly Finding[] {
  if (state === undefined || state.phase === 'waiting') return [];
  return (state.periodic ?? []).flatMap(({ task, staleAfterS, succeededAgoS = observedMs / 1000 }) =>
    succeededAgoS > staleAfterS ? [finding('task-stale', { task, ago: agoText(succeededAgoS) })] : [],
  );
}

function agoText(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

function taskFindings(
  { task, failed, ended, lost, errors }: TroubledTask,
  minutes: number,
): readonly Finding[] {
  const percent = Math.round((100 * failed) / Math.max(1, ended));
  return [
    ...(lost > 0 ? [finding('tasks-lost', { task, count: lost, minutes })] : []),
    ...(failsOften({ failed, ended })
      ? [finding('task-fails-often', { task, percent, count: ended, minutes, errors: errorsText(errors) })]
      : []),
  ];
}

function failsOften({ failed, ended }: Pick<TroubledTask, 'failed' | 'ended'>): boolean {
  return failed >= THRESHOLDS.failedAtLeast && failed > THRESHOLDS.failedShare * ended;
}

/** One finding per newly failing task, or one for all if there are many, as after a restart. */
function firstFailures(tasks: readonly TroubledTask[]): readonly Finding[] {
  const first = tasks.filter((task) => task.isFirstFailure && !failsOften(task));
  if (first.length <= FIRST_FAILURES_MAX)
    return first.map(({ task, errors }) =>
      finding('task-first-failure', { task, tasks: task, errors: errorsText(errors) }),
    );
  const names = first.map(({ task }) => task);
  const lists = { task: names.slice(0, NAMES_MAX) };
  return [finding('task-first-failure', { tasks: someOf(names, NAMES_MAX) }, undefined, lists)];
}

function errorsText(errors: TroubledTask['errors']): string {
  return errors.length === 0 ? '' : `: ${errors.map(([type, count]) => `${type} ×${count}`).join(', ')}`;
}

/** Finds what celery-otel itself dropped, evicted or failed at, in the last ten minutes. */
function ownLosses({ health, nowMs, state }: Facts): readonly Finding[] {
  const { evicted, unsent, overflowed, defects, defectAtMs } = health;
  const isRecent = ({ atMs }: { readonly atMs: number }) => nowMs - atMs <= RECENT_MS;
  const lagS = state?.phase === 'listening' ? (state.events?.lagMs ?? 0) / 1000 : 0;
  return [
    ...(lagS > THRESHOLDS.lagS ? [finding('events-late', { seconds: Math.round(lagS) })] : []),
    ...[...evicted].flatMap(([table, loss]) =>
      isRecent(loss) ? [finding('table-full', { table, count: loss.count })] : [],
    ),
    ...(overflowed !== undefined && isRecent(overflowed)
      ? [finding('series-overflow', { ...overflowed })]
      : []),
    ...[...unsent].flatMap(([signal, loss]) =>
      isRecent(loss)
        ? [finding('items-dropped', { signal: SIGNALS[signal], count: loss.count, reason: loss.detail })]
        : [],
    ),
    ...(defects > 0 && isRecent({ atMs: defectAtMs }) ? [finding('internal-error', { count: defects })] : []),
  ];
}

/** No worker was seen, except for signs: a queue is consumed, or a command was received. */
function neverSeen({ state, checked, observedMs, unseenMs }: Facts): Finding {
  const { elsewhere: places, reachesWorkers = false } = checked ?? {};
  // For a bridge, the problem has its own beginning; a check only knows how long it has run.
  const seconds = Math.round((checked === undefined ? unseenMs : observedMs) / 1000);
  const consumed = state?.queues?.consumed;
  if (places !== undefined) return finding('workers-elsewhere', { seconds, places });
  if (consumed !== undefined)
    return finding('workers-hidden', { seconds, evidence: `the queue ${consumed} is consumed` });
  if (reachesWorkers) return finding('workers-hidden', { seconds, evidence: 'questions reach one' });
  return finding('no-workers', { seconds });
}

/** Finds workers without task events. If there are any, they are why some tasks are never seen to run. */
function taskEvents({ health, state, checked }: Facts): readonly Finding[] {
  const { workers = [], more = 0 } = health.taskEventsMissing ?? {};
  const without = [...workers, ...(checked?.withoutTaskEvents ?? [])];
  const count = without.length + more;
  const isAll = count >= (state?.workers?.up ?? 0);
  if (count > 0) return findingAbout('task-events-off', without, count, isAll ? 'down' : 'degraded');
  const { unseen = [] } = state ?? {};
  if (unseen.length === 0) return [];
  const task = unseen.slice(0, NAMES_MAX);
  return [finding('tasks-unseen', { tasks: someOf(unseen, NAMES_MAX) }, undefined, { task })];
}

/**
 * Finds failed commands and polls; if the broker is away, silent or blocks publishers, that is the cause, and reported
 * instead.
 */
function polls(facts: Facts): readonly Finding[] {
  const { health, nowMs, state, checked } = facts;
  const { asked, polled, blocked, unusableReply: unusable } = health;
  if (state === undefined || state.phase === 'waiting' || checked?.silentMs !== undefined) return [];
  return [
    ...unasked(facts),
    ...(asked?.outcome === 'failure' && blocked === undefined
      ? [finding('remote-control-failed', { reason: asked.reason })]
      : []),
    ...(unusable === undefined || nowMs - unusable.atMs > RECENT_MS
      ? []
      : [finding('remote-control-faulty', { reason: unusable.reason })]),
    ...(polled === undefined || polled.outcome === 'success'
      ? []
      : [finding('queues-unread', { reason: polled.reason })]),
  ];
}

/** Finds whether workers or queues are never asked by choice. A recording cannot be asked. */
function unasked({ health, state, observedMs, unseenMs }: Facts): readonly Finding[] {
  const { broker, asked, polled } = health;
  const canAsk = state?.phase === 'listening' && broker !== undefined && !broker.startsWith(RECORDING);
  if (!canAsk || observedMs < unseenMs) return [];
  return [
    ...(asked === undefined ? [finding('workers-unasked')] : []),
    ...(polled === undefined && state.queues === undefined ? [finding('queues-unpolled')] : []),
  ];
}

function losses({ dropped }: ServiceHealth, nowMs: number): readonly Finding[] {
  return [...dropped].flatMap(([kind, { count, atMs, detail }]) => {
    if (nowMs - atMs > RECENT_MS) return [];
    if (kind === TOO_FAST) return [finding('events-shed', { count })];
    return [finding('events-unreadable', { count, reason: detail === '' ? kind : `${kind} (${detail})` })];
  });
}

function exportFindings(signal: Exported, attempt: ExportAttempt): readonly Finding[] {
  const { outcome, backend, reason, failures, rejected } = attempt;
  const values = { backend, reason, signal: SIGNALS[signal] };
  switch (outcome) {
    case 'success':
      return [];
    case 'partial':
      return [finding(rejected === 0 ? 'backend-warns' : 'backend-refuses', values, 'degraded')];
    case 'failure':
      // Failed exports of spans and log records are no `down`: they only describe what the metrics measure.
      return failures < EXPORT_FAILURES_MIN
        ? []
        : [finding('backend-unavailable', values, signal === 'metrics' ? 'down' : 'degraded')];
  }
}
