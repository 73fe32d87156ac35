/**
 * The only judge: what the facts about a service mean, as findings of the table of symptoms. The status, the page and `top`
 * use it while a bridge runs, and `check` when it ends; each adds only what it alone observes. Pure: the time is an argument.
 */
import type { QueueAge, WorkerCounts } from '../cluster/view-counts.ts';
import type { SelfEvent, SessionEndKind } from '../self/self-event.ts';
import type { TroubledTask } from '../service/activity/troubles.ts';
import type { ServiceState } from '../service/service-state.ts';
import type { ExportAttempt, Exported, ServiceHealth } from './service-health.ts';
import { skipped } from './skipped-commands.ts';
import { type Finding, finding, findingAbout, inTableOrder, type SymptomCode, someOf } from './symptoms.ts';

/** What is known of a service at a moment. */
export interface Facts {
  readonly health: ServiceHealth;
  /** By the clock of `health`, ms. */
  readonly nowMs: number;
  /** Undefined: the facts are about the bridge itself. */
  readonly state: Judged | undefined;
  /** How long no worker may be seen until that is a problem, and for how long the service has been observed, ms. */
  readonly unseenMs: number;
  readonly observedMs: number;
  /** What only a check observes. */
  readonly checked?: Checked;
}

type Judged = Pick<
  ServiceState,
  'phase' | 'workers' | 'formerWorkers' | 'queues' | 'unseen' | 'old' | 'periodic' | 'troubles'
> & { readonly events?: Pick<ServiceState['events'], 'lagMs'> };

export interface Checked {
  /** Workers that ran tasks and sent no task events. */
  readonly withoutTaskEvents: readonly string[];
  /** How long the broker has not replied, if that is too long, ms. */
  readonly silentMs: number | undefined;
  /** Whether there are workers that are not watched, so that some of them may be up. */
  readonly hasUnwatched: boolean;
  /** Signs of workers elsewhere; undefined if there are none. */
  readonly elsewhere: string | undefined;
  /** Whether the last command reached a worker, which may not have replied. */
  readonly reachesWorkers: boolean;
}

/** How long a loss counts as a current problem. */
const RECENT_MS = 10 * 60_000;
/** A backend that restarts is not a problem yet. */
const FAILURES_MIN = 2;
const NAMES_MAX = 5;
const FIRST_FAILURES_MAX = 3;
/** Workers that are deployed anew are back by then, s. */
const RESTART_S = 60;
/** As in the shipped alerts (dashboards/rules/alerts.yaml). */
export const THRESHOLDS = {
  failedShare: 0.1,
  failedMin: 3,
  waitsS: 600,
  runsS: 3600,
  crashesMin: 3,
  lagS: 30,
} as const;
const RECORDING = 'recording:';
/** Why readable events are dropped. */
export const TOO_FAST = 'arrived-too-fast';

const ENDS: Readonly<Record<SessionEndKind, SymptomCode | undefined>> = {
  unreachable: 'broker-unreachable',
  refused: 'broker-refused',
  lost: 'connection-lost',
  malformed: 'broker-malformed',
  // A recording that cannot be replayed.
  unusable: 'broker-refused',
  stopped: undefined,
  finished: undefined,
};

const SIGNALS: Readonly<Record<Exported, string>> = {
  metrics: 'metrics',
  traces: 'spans',
  logs: 'log records',
};

/** @returns the problems, and what is unknown, in the order of the table */
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
    // Without any worker, no queue has consumers.
    ...(ofWorkers.some(({ code }) => code === 'workers-gone') ? [] : unconsumed(facts)),
    ...expiring(facts),
    ...polls(facts),
    ...losses(health, nowMs),
    ...ownTroubles(facts),
    ...[...health.exports].flatMap(([signal, attempt]) => exported(signal, attempt)),
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

/** @param isAway whether no connection has followed */
function sessionEnd(
  { broker, reason, end, isTls }: SelfEvent<'broker-session-ended'>,
  isAway: boolean,
): readonly Finding[] {
  const code = end === 'unreachable' && isTls === true ? 'broker-untrusted' : ENDS[end];
  if (code === undefined) return [];
  return [finding(code, { broker, reason }, isAway ? 'down' : undefined)];
}

/** Nothing while the connection is away: a change may have been missed. */
function workers(facts: Facts): readonly Finding[] {
  const { health, state, checked, unseenMs, observedMs } = facts;
  const { eventsMissing } = health;
  const { phase, workers, formerWorkers } = state ?? {};
  const former = workers !== undefined && workers.known > 0 ? workers : formerWorkers;
  // Workers that are gone explain that no event arrives.
  if (eventsMissing !== undefined && (former === undefined || (workers?.up ?? 0) > 0))
    return [finding('no-workers', { seconds: Math.round(eventsMissing.forMs / 1000) })];
  if (phase !== 'listening' || workers === undefined) return [];
  if (workers.up > 0) return findingAbout('workers-silent', workers.silent, workers.silentCount);
  // Those that are not seen may be up.
  if (checked?.hasUnwatched === true || checked?.silentMs !== undefined) return [];
  const { polled = 0, waiting } = state?.queues ?? {};
  const isRestart = checked === undefined && workers.quietS < RESTART_S;
  if (former !== undefined) return gone(former, polled > 0 ? waiting : undefined, isRestart);
  return observedMs < unseenMs ? [] : [neverSeen(facts)];
}

/**
 * Workers that said goodbye are a problem only if messages wait for them.
 * @param waiting undefined if that is unknown
 * @param isRestart whether others may follow at once
 */
function gone(
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

/** If all are deaf, no tasks are executed. */
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

/** What happened in the last minutes; while the broker is away, that is not of now. */
function tasks({ health, state, checked }: Facts): readonly Finding[] {
  if (state === undefined || state.phase === 'waiting') return [];
  const { troubles, old } = state;
  const minutes = Math.max(1, Math.round((troubles?.spanMs ?? 0) / 60_000));
  const aged = ({ queue, ageS }: QueueAge) => ({ queue, minutes: Math.floor(ageS / 60) });
  const { waitsS, runsS, crashesMin } = THRESHOLDS;
  // Workers whose task events are off lose none.
  const { workers: mute = [], more = 0 } = health.taskEventsMissing ?? {};
  const isMute = (worker: string): boolean =>
    more > 0 || mute.includes(worker) || checked?.withoutTaskEvents.includes(worker) === true;
  return [
    ...(troubles?.tasks ?? []).flatMap((task) => ofTask(task, minutes)),
    // To a check, every failure is the first.
    ...(checked === undefined ? firstFailures(troubles?.tasks ?? []) : []),
    ...(troubles?.crashes ?? [])
      .filter(({ count }) => count >= crashesMin)
      .map((crashes) => finding('worker-crashes', { ...crashes })),
    ...(troubles?.eventsLost ?? [])
      .filter(({ worker }) => !isMute(worker))
      .map((lost) => finding('events-lost', { ...lost })),
    ...(old?.waiting ?? [])
      .filter(({ ageS }) => ageS > waitsS)
      .map((age) => finding('task-waits-long', aged(age))),
    ...(old?.running ?? [])
      .filter(({ ageS }) => ageS > runsS)
      .map((age) => finding('task-runs-long', aged(age))),
  ];
}

/** Before the first success, the time counts from the start. */
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

function ofTask({ task, failed, ended, lost, errors }: TroubledTask, minutes: number): readonly Finding[] {
  const percent = Math.round((100 * failed) / Math.max(1, ended));
  return [
    ...(lost > 0 ? [finding('tasks-lost', { task, count: lost, minutes })] : []),
    ...(failsOften({ failed, ended })
      ? [finding('task-fails-often', { task, percent, count: ended, minutes, errors: errorsText(errors) })]
      : []),
  ];
}

function failsOften({ failed, ended }: Pick<TroubledTask, 'failed' | 'ended'>): boolean {
  return failed >= THRESHOLDS.failedMin && failed > THRESHOLDS.failedShare * ended;
}

/** One line each, or one for all: after a restart there may be many. */
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

/** What celery-otel itself drops, forgets or fails at. */
function ownTroubles({ health, nowMs, state }: Facts): readonly Finding[] {
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

/** No worker was seen, or only what one consumes or receives. */
function neverSeen({ state, checked, observedMs, unseenMs }: Facts): Finding {
  const { elsewhere: places, reachesWorkers = false } = checked ?? {};
  // A bridge has the beginning of the problem, too; a check has only its own time.
  const seconds = Math.round((checked === undefined ? unseenMs : observedMs) / 1000);
  const consumed = state?.queues?.consumed;
  if (places !== undefined) return finding('workers-elsewhere', { seconds, places });
  if (consumed !== undefined)
    return finding('workers-hidden', { seconds, evidence: `the queue ${consumed} is consumed` });
  if (reachesWorkers) return finding('workers-hidden', { seconds, evidence: 'questions reach one' });
  return finding('no-workers', { seconds });
}

/** If workers send no task events at all, that is why some tasks are never seen to run. */
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

/** A broker that is away, silent, or blocks publishers is the cause, and the failed polls are its consequence. */
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

/** What nobody asks; a recording cannot be asked. */
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

function exported(signal: Exported, attempt: ExportAttempt): readonly Finding[] {
  const { outcome, backend, reason, failures, rejected } = attempt;
  const values = { backend, reason, signal: SIGNALS[signal] };
  switch (outcome) {
    case 'success':
      return [];
    case 'partial':
      return [finding(rejected === 0 ? 'backend-warns' : 'backend-refuses', values, 'degraded')];
    case 'failure':
      // Spans and log records only describe what the metrics measure.
      return failures < FAILURES_MIN
        ? []
        : [finding('backend-unavailable', values, signal === 'metrics' ? 'down' : 'degraded')];
  }
}
