/**
 * The only judge: what the facts about a service mean, as findings of the table of symptoms. The status, the page and `top`
 * use it while a bridge runs, and `check` when it ends; each adds only what it alone observes. Pure: the time is an argument.
 */
import type { SelfEvent, SessionEndKind } from '../self/self-event.ts';
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
  readonly state: Pick<ServiceState, 'phase' | 'workers' | 'queues' | 'unseen'> | undefined;
  /** How long no worker may be seen until that is a problem, and for how long the service has been observed, ms. */
  readonly unseenMs: number;
  readonly observedMs: number;
  /** What only a check observes. */
  readonly checked?: Checked;
}

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

/** @returns the problems, and what is unknown because it is not asked, in the order of the table */
export function judge(facts: Facts): readonly Finding[] {
  const { health, nowMs, state } = facts;
  return inTableOrder([
    ...broker(facts),
    ...workers(facts),
    ...taskEvents(facts),
    ...findingAbout('worker-deaf', [...health.deaf]),
    ...skipped(health),
    ...(state?.queues?.unconsumed ?? [])
      .filter(() => state?.phase === 'listening')
      .map((queue) => finding('queue-without-consumers', { ...queue })),
    ...polls(facts),
    ...losses(health, nowMs),
    ...[...health.exports].flatMap(([signal, attempt]) => exported(signal, attempt)),
  ]);
}

function broker({ health, checked }: Facts): readonly Finding[] {
  const { failures, broker = '', blocked, publishRefused, instances = 1 } = health;
  const { silentMs } = checked ?? {};
  return [
    ...[...failures.values()].flatMap(sessionEnd),
    ...(silentMs === undefined
      ? []
      : [finding('broker-silent', { broker, seconds: Math.round(silentMs / 1000) })]),
    ...(blocked === undefined ? [] : [finding('publishers-blocked', { broker, reason: blocked })]),
    ...(publishRefused === undefined ? [] : [finding('publishing-refused', { reason: publishRefused })]),
    ...(instances > 1 ? [finding('exported-twice', { count: instances })] : []),
  ];
}

function sessionEnd({ broker, reason, end, isTls }: SelfEvent<'broker-session-ended'>): readonly Finding[] {
  const code = end === 'unreachable' && isTls === true ? 'broker-untrusted' : ENDS[end];
  return code === undefined ? [] : [finding(code, { broker, reason })];
}

/** Nothing while the connection is away: a change may have been missed. */
function workers(facts: Facts): readonly Finding[] {
  const { health, state, checked, unseenMs, observedMs } = facts;
  const { eventsMissing } = health;
  if (eventsMissing !== undefined)
    return [finding('no-workers', { seconds: Math.round(eventsMissing.forMs / 1000) })];
  const { phase, workers } = state ?? {};
  if (phase !== 'listening' || workers === undefined) return [];
  if (workers.up > 0) return findingAbout('workers-silent', workers.silent, workers.silentCount);
  // Those that are not seen may be up.
  if (checked?.hasUnwatched === true || checked?.silentMs !== undefined) return [];
  if (workers.known > 0) return findingAbout('workers-gone', workers.gone, workers.known);
  return observedMs < unseenMs ? [] : [neverSeen(facts)];
}

/** No worker was seen, or only what one consumes or receives. */
function neverSeen({ state, checked, observedMs }: Facts): Finding {
  const { elsewhere: places, reachesWorkers = false } = checked ?? {};
  const seconds = Math.round(observedMs / 1000);
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
  if (without.length > 0) return findingAbout('task-events-off', without, without.length + more);
  const { unseen = [] } = state ?? {};
  return unseen.length === 0 ? [] : [finding('tasks-unseen', { tasks: someOf(unseen, NAMES_MAX) })];
}

/** A broker that is away, silent, or blocks publishers is the cause, and the failed polls are its consequence. */
function polls({ health, nowMs, state, checked }: Facts): readonly Finding[] {
  const { asked, polled, blocked, unusableReply: unusable } = health;
  if (state?.phase === 'waiting' || checked?.silentMs !== undefined) return [];
  return [
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
      return [finding(rejected === 0 ? 'backend-warns' : 'backend-refuses', values)];
    case 'failure':
      return failures < FAILURES_MIN ? [] : [finding('backend-unavailable', values)];
  }
}
