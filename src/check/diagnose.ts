/**
 * Makes the findings of a check about one service: those of the judge in `health/`, and those that only a check can
 * observe. Pure: it asks nobody, and the time is an argument.
 */
import type { Elsewhere, OtherPlace } from '../broker/broker.ts';
import type { QueueDepth } from '../broker/broker-reading.ts';
import type { ClusterView, WorkerReading } from '../cluster/observation.ts';
import { consumersIn, oldTasks, queueCounts, workerCounts } from '../cluster/view-counts.ts';
import { type Facts, judge } from '../health/judge.ts';
import { skippedFor } from '../health/skipped-commands.ts';
import { type Finding, finding, findingAbout, inTableOrder, someOf } from '../health/symptoms.ts';
import type { TroublesReading } from '../service/activity/troubles.ts';
import { printable } from '../text/printable.ts';
import { safeKey, textOf } from '../text/safe-key.ts';
import type { CheckEvidence } from './check-evidence.ts';
import { type Dangers, dangers } from './dangers.ts';
import type { WorkerEvidence } from './worker-evidence.ts';

export interface Watched extends Dangers {
  readonly evidence: CheckEvidence;
  /** The state of the cluster at the end of the check. */
  readonly view: ClusterView;
  /** Failures, losses and crashes during the check. */
  readonly troubles: TroublesReading | undefined;
  /** Whether it was connected at the end; a recording that has ended counts as connected. */
  readonly isConnected: boolean;
  /** How long the service was watched. */
  readonly watchedMs: number;
  /** How long events could have arrived. */
  readonly listenedMs: number;
  /** How long the broker had sent nothing at the end, although it is probed every second. */
  readonly silentMs: number;
  /** The addresses of the broker, as one text. */
  readonly addresses: string;
  /** The exchange of events; undefined for other brokers than RabbitMQ, which have none. */
  readonly exchange: string | undefined;
  /** Whether commands were sent to workers; `impossible` with a recording. */
  readonly asking: 'on' | 'off' | 'impossible';
}

/** How many lines there are about single workers, and about single queues. */
const LINES_MAX = 20;
/** How many names one line lists. */
const LISTED_MAX = 5;
/**
 * Workers batch task events for up to a second; after this time, the events of all tasks that a heartbeat counts have
 * been sent.
 */
const TASK_EVENTS_DELAY_MS = 2000;
/** With fewer tasks, all of them may have been in transit when the queues were empty. */
const RECEIVED_MIN = 3;
/** The least difference of clocks that is reported. */
const SKEW_MIN_MS = 2000;
/** A worker should have replied if this many commands ended since it was known: the last one was sent after that. */
const QUESTIONS_MIN = 2;
/** A broker that sends nothing for this long is reported as silent. */
const SILENT_MS = 3000;
/** Within this time, each worker sends a heartbeat; by default every two seconds. */
const HEARTBEAT_WAIT_MS = 4000;
const LIST = new Intl.ListFormat('en');

export function diagnose(watched: Watched): readonly Finding[] {
  const { evidence } = watched;
  const problems = judge(factsOf(watched));
  if (evidence.health.broker === undefined) return unconnected(watched, problems);
  return inTableOrder([
    finding('broker-reached', { broker: evidence.health.broker }),
    ...problems,
    ...connection(watched),
    ...exchanges(watched),
    ...workers(watched),
    ...events(watched),
    ...queues(watched, problems),
    ...clocks(evidence),
    ...dangers(watched),
  ]);
}

/** The findings if no connection was made: everything else follows from that. */
function unconnected(
  { evidence, addresses: broker }: Watched,
  problems: readonly Finding[],
): readonly Finding[] {
  if (evidence.health.failures.size > 0) return problems;
  return [finding('broker-unreachable', { broker, reason: 'no answer in time' })];
}

function factsOf(watched: Watched): Facts {
  const { evidence, view, troubles, watchedMs, isConnected } = watched;
  const { names, elsewhere, reachesWorkers } = evidence;
  return {
    ...{ health: evidence.health, nowMs: 0, unseenMs: 0, observedMs: watchedMs },
    state: {
      phase: isConnected ? 'listening' : 'waiting',
      workers: workerCounts(view),
      queues: queueCounts(view, areConsumersKnown(watched)),
      unseen: names.unseen(view.broker?.queues ?? []),
      old: oldTasks(view),
      ...(troubles && { troubles }),
    },
    checked: {
      withoutTaskEvents: taskEventsOf(watched).off,
      silentMs: isSilent(watched) ? watched.silentMs : undefined,
      hasUnwatched: overlookedBy(watched) > 0,
      elsewhere: signsOf(elsewhere),
      reachesWorkers,
    },
  };
}

/** Not if the broker blocks publishers: then it does not read our probes, either. */
function isSilent({ evidence, silentMs, asking }: Watched): boolean {
  return silentMs >= SILENT_MS && asking !== 'impossible' && evidence.health.blocked === undefined;
}

/** A connection that broke during the check, and was made again. */
function connection({ evidence: { lost, health } }: Watched): readonly Finding[] {
  return lost !== undefined && health.failures.size === 0 ? [finding('connection-lost', lost)] : [];
}

function exchanges(watched: Watched): readonly Finding[] {
  const { evidence, exchange } = watched;
  if (exchange === undefined) return [];
  const code = lacksExchange(watched) ? 'exchange-missing' : 'exchange-found';
  return [finding(code, { exchange, broker: evidence.health.broker ?? '' })];
}

function lacksExchange({ evidence, exchange }: Watched): boolean {
  return exchange !== undefined && evidence.exchange === undefined;
}

function workers(watched: Watched): readonly Finding[] {
  const { evidence, view, listenedMs, asking } = watched;
  const up = view.workers.filter((worker) => worker.up);
  if (up.length === 0) return workersBeyond(watched);
  const { unseen } = evidence;
  const seen = ({ worker }: WorkerReading) => evidence.workers.get(safeKey(worker));
  const beats = (worker: WorkerReading): boolean => (seen(worker)?.heartbeats ?? 0) > 0;
  const replied = (worker: WorkerReading): boolean => seen(worker)?.hasReplied === true;
  const wasAsked = (worker: WorkerReading): boolean => (seen(worker)?.questions ?? 0) >= QUESTIONS_MIN;
  const canReply = asking === 'on' && !evidence.hasFailedToAsk && evidence.lost === undefined;
  const unread = new Set(skippedFor('serializer', evidence.health));
  const silent = up.filter(
    (worker) =>
      canReply && wasAsked(worker) && !(replied(worker) || worker.deaf || unread.has(worker.worker)),
  );
  // If the exchange was missing, there is no binding to one that appeared later.
  const canHear = listenedMs >= HEARTBEAT_WAIT_MS && !lacksExchange(watched);
  const withoutHeartbeat = up.filter((worker) => replied(worker) && !beats(worker));
  return [
    finding('workers-seen', {
      count: up.length,
      heartbeats: up.filter(beats).length,
      replies: up.filter(replied).length,
    }),
    ...up.slice(0, LINES_MAX).map((worker) => finding('worker', about(worker))),
    ...remaining('more-workers', up.length),
    ...workersBeyond(watched),
    ...findingAbout('no-reply', namesOf(silent)),
    ...heartbeatsMissing(watched, withoutHeartbeat, canHear),
    ...(unseen > 0 ? [finding('workers-unseen', { count: unseen })] : []),
  ];
}

/** @param workers that replied, but sent no heartbeat */
function heartbeatsMissing(
  { evidence, exchange: wanted }: Watched,
  workers: readonly WorkerReading[],
  canHear: boolean,
): readonly Finding[] {
  const { exchanges: others } = evidence.elsewhere;
  const exchange = evidence.exchange ?? wanted;
  if (workers.length === 0 || !(canHear || others.length > 0)) return [];
  if (evidence.events > 0 || exchange === undefined) return findingAbout('no-heartbeat', namesOf(workers));
  const also = others.length === 0 ? '' : `; there is also ${quoted(others)}`;
  return [
    finding('events-elsewhere', {
      workers: someOf(namesOf(workers), LISTED_MAX),
      ...{ exchange, others: also },
    }),
  ];
}

function workersBeyond(watched: Watched): readonly Finding[] {
  const { workersMax: max, isCrowded } = watched.evidence;
  const beyondMax = overlookedBy(watched);
  if (beyondMax === 0) return [];
  return [finding('workers-beyond', { max, count: isCrowded ? `${beyondMax} or more` : beyondMax })];
}

/** How many present workers were not watched: beyond the limit, or evicted because their names are long. */
function overlookedBy({ evidence: { workers: watched, unwatched }, view }: Watched): number {
  const known = new Set(view.workers.map(({ worker }) => safeKey(worker)));
  return unwatched + [...watched].filter(([key, { hasLeft }]) => !hasLeft && !known.has(key)).length;
}

/** Describes where else workers may be; undefined if there are no signs. */
function signsOf({ places, exchanges }: Elsewhere): string | undefined {
  const signs = [
    ...places.map(placeText),
    ...(exchanges.length > 0 ? [`the exchange ${quoted(exchanges)}`] : []),
  ];
  return signs.length > 0 ? LIST.format(signs) : undefined;
}

function placeText({ database, prefix }: OtherPlace): string {
  const where = database === undefined ? 'this database' : `the database ${database}`;
  if (prefix === undefined) return where;
  return `${where} ${prefix === '' ? 'without a prefix' : `with the prefix ${quoted([prefix])}`}`;
}

function quoted(names: readonly string[]): string {
  return LIST.format(names.map((name) => JSON.stringify(name)));
}

function about({ worker, versions, pool, reported }: WorkerReading): Readonly<Record<string, string>> {
  const { processes } = reported?.stats ?? {};
  const size = processes === undefined ? '' : ` of ${processes}`;
  return {
    worker,
    version: versions[0]?.version || 'of an unknown version',
    pool: pool === undefined ? 'pool unknown' : `pool ${pool}${size}`,
  };
}

/** Finds whether task events and task-sent events are on. */
function events(watched: Watched): readonly Finding[] {
  const found = taskEventsOf(watched);
  const { sent, received, health } = watched.evidence;
  const { instances } = health;
  // Without task events, the number of tasks is unknown.
  const isKnown = sent > 0 || found.on.length > 0;
  return [
    ...findingAbout('task-events-on', found.on),
    ...findingAbout('task-events-unknown', found.unknown),
    ...(isKnown ? [taskSent(sent, received)] : []),
    ...(instances === 1 ? [finding('exported-already')] : []),
  ];
}

/** Groups the workers that are up by whether they send task events. */
function taskEventsOf({ evidence, view, listenedMs }: Watched): Readonly<Record<Sending, readonly string[]>> {
  const found: Record<Sending, string[]> = { on: [], off: [], unknown: [] };
  for (const { worker, up } of view.workers)
    if (up) found[sending(evidence.workers.get(safeKey(worker)), listenedMs)].push(worker);
  return found;
}

type Sending = 'on' | 'off' | 'unknown';

function sending(worker: WorkerEvidence | undefined, listenedMs: number): Sending {
  if (worker === undefined) return 'unknown';
  if (worker.taskEvents > 0) return 'on';
  const { ranTasksAtMs = Number.POSITIVE_INFINITY } = worker;
  return listenedMs - ranTasksAtMs >= TASK_EVENTS_DELAY_MS ? 'off' : 'unknown';
}

function taskSent(sent: number, received: number): Finding {
  if (sent > 0) return finding('task-sent-on');
  return received >= RECEIVED_MIN
    ? finding('task-sent-off', { count: received })
    : finding('task-sent-unknown');
}

/** Whether a queue that no worker reported certainly has no consumers. */
function areConsumersKnown(watched: Watched): boolean {
  const isWhole = watched.view.reported?.isWhole === true;
  return isWhole && watched.evidence.knowsConsumers && overlookedBy(watched) === 0;
}

/** Describes the queues, except those that are already problems: with messages and without consumers. */
function queues(watched: Watched, problems: readonly Finding[]): readonly Finding[] {
  const { exchange } = watched;
  const { queues: polled = [], areAll = false } = watched.view.broker ?? {};
  const depths = polled.toSorted((a, b) => b.length - a.length);
  const consumersOf = consumersIn(watched.view, areConsumersKnown(watched));
  return [
    ...depths.slice(0, LINES_MAX).flatMap((depth) => {
      const { count, isExact } = consumersOf(depth);
      const { queue, length } = depth;
      const isUnconsumed = count === 0 && isExact && length > 0 && !depth.isParked;
      if (
        isUnconsumed &&
        problems.some(
          ({ code, subject }) => code === 'queue-without-consumers' && subject === printable(queue),
        )
      )
        return [];
      const consumers = consumersText(count, isExact);
      return finding('queue', { queue, length, consumers }, isUnconsumed ? 'degraded' : 'fine');
    }),
    ...remaining('more-queues', depths.length),
    ...(exchange === undefined || depths.length === 0 || areAll
      ? []
      : [finding('queues-known', { queues: someOf(namesOfQueues(depths), LISTED_MAX) })]),
  ];
}

function namesOfQueues(depths: readonly QueueDepth[]): readonly string[] {
  return depths.map(({ queue }) => queue);
}

function consumersText(count: number, isExact: boolean): string {
  if (isExact) return count === 1 ? '1 consumer' : `${count} consumers`;
  return count === 0 ? 'consumers unknown' : `${count} or more consumers`;
}

function clocks({ workers }: CheckEvidence): readonly Finding[] {
  const skewed = [...workers].filter(
    ([, { lagMs }]) => Number.isFinite(lagMs) && Math.abs(lagMs) >= SKEW_MIN_MS,
  );
  return skewed.slice(0, LISTED_MAX).map(([key, { lagMs }]) =>
    finding('clock-skew', {
      worker: textOf(key),
      seconds: Math.round(Math.abs(lagMs) / 1000),
      direction: lagMs < 0 ? 'fast' : 'slow, or its events take that long',
    }),
  );
}

function remaining(code: 'more-workers' | 'more-queues', count: number): readonly Finding[] {
  return count > LINES_MAX ? [finding(code, { count: count - LINES_MAX })] : [];
}

function namesOf(workers: readonly WorkerReading[]): readonly string[] {
  return workers.map(({ worker }) => worker);
}
