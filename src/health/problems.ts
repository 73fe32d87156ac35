/** The current problems of a service, and what is unknown of it, from the same table of symptoms as `check`. Pure. */

import type { SessionEndKind } from '../self/self-event.ts';
import type { ServiceState } from '../service/service-state.ts';
import type { ExportAttempt, Exported, ServiceHealth } from './service-health.ts';
import { skipped } from './skipped-commands.ts';
import { type Finding, finding, findingAbout, type SymptomCode, someOf } from './symptoms.ts';

/** How long a loss counts as a current problem. */
const RECENT_MS = 10 * 60_000;
/** Workers send a heartbeat every two seconds. */
const UNSEEN_MS = 60_000;
/** A backend that restarts is not a problem yet. */
const FAILURES_MIN = 2;
const NAMES_MAX = 5;

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

/**
 * @param nowMs monotonic
 * @param state of the service; undefined: of the bridge itself
 * @param upMs how long the bridge has been up
 */
export function problemsOf(
  health: ServiceHealth,
  nowMs: number,
  state: ServiceState | undefined,
  upMs: number,
): readonly Finding[] {
  return [
    ...session(health),
    ...events(health),
    ...(health.eventsMissing === undefined ? withoutWorkers(state, upMs) : []),
    ...findingAbout('worker-deaf', [...health.deaf]),
    ...ofCluster(state),
    ...skipped(health),
    ...unseen(state),
    ...questions(health),
    ...losses(health, nowMs),
    ...[...health.exports].flatMap(([signal, attempt]) => exported(signal, attempt)),
  ];
}

function session({ sessionEnd, instances = 1 }: ServiceHealth): readonly Finding[] {
  const found: Finding[] = [];
  if (sessionEnd !== undefined) {
    const { broker, reason, end, isTls } = sessionEnd;
    const code = isTls === true ? 'broker-untrusted' : ENDS[end];
    if (code !== undefined) found.push(finding(code, { broker, reason }));
  }
  if (instances > 1) found.push(finding('exported-twice', { count: instances }));
  return found;
}

function events({ eventsMissing, taskEventsMissing }: ServiceHealth): readonly Finding[] {
  const { workers = [], more = 0 } = taskEventsMissing ?? {};
  return [
    ...(eventsMissing === undefined
      ? []
      : [finding('no-workers', { seconds: Math.round(eventsMissing.forMs / 1000) })]),
    ...findingAbout('task-events-off', workers, workers.length + more),
  ];
}

/** Producers may still send tasks, so that events arrive, while no worker runs them. */
function withoutWorkers(state: ServiceState | undefined, upMs: number): readonly Finding[] {
  const { phase, workers } = state ?? {};
  if (phase !== 'listening' || workers === undefined || workers.up > 0) return [];
  const { known } = workers;
  if (known > 0) return [finding('workers-gone', { workers: `${known} worker${known === 1 ? '' : 's'}` })];
  return upMs < UNSEEN_MS ? [] : [finding('no-workers', { seconds: UNSEEN_MS / 1000 })];
}

/** Only while no change can have been missed. */
function ofCluster(state: ServiceState | undefined): readonly Finding[] {
  const { phase, workers, queues } = state ?? {};
  if (phase !== 'listening') return [];
  const silent = workers !== undefined && workers.up > 0 ? workers : undefined;
  return [
    ...findingAbout('workers-silent', silent?.silent ?? [], silent?.silentCount),
    ...(queues?.unconsumed ?? []).map(({ queue, length }) =>
      finding('queue-without-consumers', { queue, length }),
    ),
  ];
}

function unseen({ unseen = [] }: Partial<ServiceState> = {}): readonly Finding[] {
  return unseen.length === 0 ? [] : [finding('tasks-unseen', { tasks: someOf(unseen, NAMES_MAX) })];
}

function questions({ asked, polled }: ServiceHealth): readonly Finding[] {
  const found: Finding[] = [];
  if (asked?.outcome === 'failure') found.push(finding('remote-control-failed', { reason: asked.reason }));
  if (polled !== undefined && polled.outcome !== 'success')
    found.push(finding('queues-unread', { reason: polled.reason }));
  return found;
}

function losses({ dropped }: ServiceHealth, nowMs: number): readonly Finding[] {
  return [...dropped].flatMap(([reason, { count, atMs, detail }]) => {
    if (nowMs - atMs > RECENT_MS) return [];
    if (reason === 'arrived-too-fast') return [finding('events-shed', { count })];
    return [finding('events-unreadable', { count, reason: `${reason} (${detail})` })];
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
