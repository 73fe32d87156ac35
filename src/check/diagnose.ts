/**
 * What the evidence of one service means, in the order in which an operator would ask: broker, workers, events, queues, clocks,
 * dangers. Pure: it queries nothing, and time is an argument.
 */
import type { OtherPlace } from '../broker/broker.ts';
import type { ClusterView, WorkerReading } from '../cluster/observation.ts';
import { skipped, skippedFor } from '../health/skipped-commands.ts';
import { type Finding, finding, findingAbout, someOf } from '../health/symptoms.ts';
import { safeKey, textOf } from '../text/safe-key.ts';
import type { CheckEvidence } from './check-evidence.ts';
import { type Dangers, dangers } from './dangers.ts';
import type { WorkerEvidence } from './worker-evidence.ts';

export interface Watched extends Dangers {
  readonly evidence: CheckEvidence;
  /** The state of the cluster at the end. */
  readonly view: ClusterView;
  /** For how long it was watched, ms. */
  readonly watchedMs: number;
  /** Listened time at the end. */
  readonly listenedMs: number;
  /** How long the broker had sent nothing at the end, though it is probed every second, ms. */
  readonly silentMs: number;
  /** All addresses of the broker. */
  readonly addresses: string;
  /** The exchange of events; only RabbitMQ knows whether it exists. */
  readonly exchange: string | undefined;
  /** Whether workers were sent commands: `impossible` with a recording. */
  readonly asking: 'on' | 'off' | 'impossible';
}

/** Lines about single workers or queues. */
const LINES_MAX = 20;
const NAMED_MAX = 5;
/** Workers batch task events for up to a second; after this time they have sent those of all tasks that a heartbeat counts. */
const BATCHED_MS = 2000;
/** Fewer tasks may all have been in transit when the queues were empty. */
const RECEIVED_MIN = 3;
const SKEW_MS = 2000;
/** Of the commands that end once a worker is known, the second was sent since then. */
const QUESTIONS_MIN = 2;
const SILENT_MS = 3000;
/** Workers send a heartbeat every two seconds. */
const HEARTBEATS_MS = 4000;
const LIST = new Intl.ListFormat('en');

export function diagnose(watched: Watched): readonly Finding[] {
  const { evidence } = watched;
  if (evidence.broker === undefined) return unconnected(watched);
  return [
    finding('broker-reached', { broker: evidence.broker }),
    // The connection was lost since.
    ...failures(watched),
    ...silence(watched),
    ...exchanges(watched),
    ...troubles(watched),
    ...workers(watched),
    ...events(watched),
    ...instances(evidence),
    ...queues(watched),
    ...clocks(evidence),
    ...dangers(watched),
  ];
}

function unconnected(watched: Watched): readonly Finding[] {
  const found = failures(watched);
  const { addresses: broker } = watched;
  return found.length > 0 ? found : [finding('broker-unreachable', { broker, reason: 'no answer in time' })];
}

function failures({ evidence }: Watched): readonly Finding[] {
  return [...evidence.failures].map(([address, { code, reason }]) =>
    finding(code, { broker: address, reason }),
  );
}

/** Not a broker that blocks publishers, and therefore us. */
function isSilent({ evidence, silentMs, asking }: Watched): boolean {
  return silentMs >= SILENT_MS && asking !== 'impossible' && evidence.trouble('blocked') === undefined;
}

function silence(watched: Watched): readonly Finding[] {
  if (!isSilent(watched)) return [];
  const { silentMs, evidence } = watched;
  return [finding('broker-silent', { broker: evidence.broker ?? '', seconds: Math.round(silentMs / 1000) })];
}

function exchanges(watched: Watched): readonly Finding[] {
  const { evidence, exchange } = watched;
  if (exchange === undefined) return [];
  const code = lacksExchange(watched) ? 'exchange-missing' : 'exchange-found';
  return [finding(code, { exchange, broker: evidence.broker ?? '' })];
}

function lacksExchange({ evidence, exchange }: Watched): boolean {
  return exchange !== undefined && evidence.exchange === undefined;
}

/** What kept the check, or keeps celery-otel, from knowing more. */
function troubles(watched: Watched): readonly Finding[] {
  const { evidence, asking } = watched;
  const isMute = isSilent(watched);
  const isBlocked = evidence.trouble('blocked') !== undefined;
  const broker = evidence.broker ?? '';
  const rows = [
    ['lost', 'connection-lost'],
    ['blocked', 'publishers-blocked'],
    ['publishing', 'publishing-refused'],
    ['asking', 'remote-control-failed'],
    ['replies', 'remote-control-faulty'],
    ['polls', 'queues-unread'],
    ['shed', 'events-shed'],
    ['unreadable', 'events-unreadable'],
  ] as const;
  const found = rows.flatMap(([kind, code]) => {
    const trouble = evidence.trouble(kind);
    // The questions failed for the same reason.
    const follows = (isMute && kind === 'polls') || ((isMute || isBlocked) && kind === 'asking');
    return trouble === undefined || follows ? [] : [finding(code, { ...trouble, broker })];
  });
  return asking === 'off' ? [...found, finding('remote-control-off')] : found;
}

function workers(watched: Watched): readonly Finding[] {
  const { evidence, view, watchedMs, listenedMs, asking } = watched;
  const up = view.workers.filter((worker) => worker.up);
  const overlooked = beyond(watched);
  if (up.length === 0) {
    if (overlooked.length > 0 || isSilent(watched)) return overlooked;
    const gone = findingAbout('workers-gone', namesOf(view.workers));
    return gone.length > 0 ? gone : [invisible(evidence, view, Math.round(watchedMs / 1000))];
  }
  const seen = ({ worker }: WorkerReading) => evidence.workers.get(safeKey(worker));
  const beats = (worker: WorkerReading): boolean => (seen(worker)?.heartbeats ?? 0) > 0;
  const replied = (worker: WorkerReading): boolean => seen(worker)?.hasReplied === true;
  const wasAsked = (worker: WorkerReading): boolean => (seen(worker)?.questions ?? 0) >= QUESTIONS_MIN;
  const obstacle = evidence.trouble('asking') ?? evidence.trouble('lost');
  const canReply = asking === 'on' && obstacle === undefined;
  const unread = new Set(skippedFor('serializer', evidence));
  const silent = up.filter(
    (worker) =>
      canReply && wasAsked(worker) && !(replied(worker) || worker.deaf || unread.has(worker.worker)),
  );
  // There is no binding to an exchange that appears later.
  const canHear = listenedMs >= HEARTBEATS_MS && !lacksExchange(watched);
  const withoutHeartbeat = up.filter((worker) => replied(worker) && !beats(worker));
  // After its `worker-offline`, a worker may still reply, or send heartbeats.
  const fellSilent = view.workers.filter((worker) => !worker.up && seen(worker)?.hasSaidGoodbye === false);
  const { unseen } = evidence;
  return [
    finding('workers-seen', {
      count: up.length,
      heartbeats: up.filter(beats).length,
      replies: up.filter(replied).length,
    }),
    ...up.slice(0, LINES_MAX).map((worker) => finding('worker', about(worker))),
    ...more('more-workers', up.length),
    ...overlooked,
    ...findingAbout('workers-silent', namesOf(fellSilent)),
    ...findingAbout('no-reply', namesOf(silent)),
    ...findingAbout('worker-deaf', namesOf(up.filter(({ deaf }) => deaf))),
    ...skipped(evidence),
    ...heartless(watched, withoutHeartbeat, canHear),
    ...(unseen > 0 ? [finding('workers-unseen', { count: unseen })] : []),
  ];
}

/** @param workers that replied, and sent no heartbeat */
function heartless(
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
      workers: someOf(namesOf(workers), NAMED_MAX),
      ...{ exchange, others: also },
    }),
  ];
}

function beyond(watched: Watched): readonly Finding[] {
  const { workersMax: max, isCrowded } = watched.evidence;
  const beyondMax = overlookedBy(watched);
  if (beyondMax === 0) return [];
  return [finding('workers-beyond', { max, count: isCrowded ? `${beyondMax} or more` : beyondMax })];
}

/** Workers that are present but were not watched: beyond the limit, or evicted for their long names. */
function overlookedBy({ evidence: { workers: watched, unwatched }, view }: Watched): number {
  const known = new Set(view.workers.map(({ worker }) => safeKey(worker)));
  return unwatched + [...watched].filter(([key, { hasLeft }]) => !hasLeft && !known.has(key)).length;
}

/** No worker, or some that are only known by what they consume. */
function invisible(
  { reachesWorkers, elsewhere }: CheckEvidence,
  { broker }: ClusterView,
  seconds: number,
): Finding {
  const { places, exchanges: others } = elsewhere;
  const signs = [...places.map(placeText), ...(others.length > 0 ? [`the exchange ${quoted(others)}`] : [])];
  if (signs.length > 0) return finding('workers-elsewhere', { seconds, places: LIST.format(signs) });
  const consumed = broker?.queues.find(({ consumers = 0 }) => consumers > 0);
  if (consumed !== undefined)
    return finding('workers-hidden', { seconds, evidence: `the queue ${consumed.queue} is consumed` });
  return reachesWorkers
    ? finding('workers-hidden', { seconds, evidence: 'questions reach one' })
    : finding('no-workers', { seconds });
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

/** Whether task events and task-sent events are on. */
function events({ evidence, view, listenedMs }: Watched): readonly Finding[] {
  const found: Record<Sending, string[]> = { on: [], off: [], unknown: [] };
  for (const worker of view.workers) {
    if (!worker.up) continue;
    found[sending(evidence.workers.get(safeKey(worker.worker)), listenedMs)].push(worker.worker);
  }
  const { sent, received } = evidence;
  // Without task events, the number of tasks is unknown.
  const isKnown = sent > 0 || found.on.length > 0;
  return [
    ...findingAbout('task-events-on', found.on),
    ...findingAbout('task-events-off', found.off),
    ...findingAbout('task-events-unknown', found.unknown),
    ...(isKnown ? [taskSent(sent, received)] : []),
    // If workers send no task events at all, that is the reason.
    ...unseen(found.off.length > 0 ? [] : evidence.names.unseen(view.broker?.queues ?? [])),
  ];
}

/** @param names of tasks that left their queue without an event */
function unseen(names: readonly string[]): readonly Finding[] {
  return names.length === 0 ? [] : [finding('tasks-unseen', { tasks: someOf(names, NAMED_MAX) })];
}

type Sending = 'on' | 'off' | 'unknown';

function sending(worker: WorkerEvidence | undefined, listenedMs: number): Sending {
  if (worker === undefined) return 'unknown';
  if (worker.taskEvents > 0) return 'on';
  const { ranTasksAtMs = Number.POSITIVE_INFINITY } = worker;
  return listenedMs - ranTasksAtMs >= BATCHED_MS ? 'off' : 'unknown';
}

function taskSent(sent: number, received: number): Finding {
  if (sent > 0) return finding('task-sent-on');
  return received >= RECEIVED_MIN
    ? finding('task-sent-off', { count: received })
    : finding('task-sent-unknown');
}

function instances({ instances: count = 0 }: CheckEvidence): readonly Finding[] {
  if (count === 0) return [];
  return [count === 1 ? finding('exported-already') : finding('exported-twice', { count })];
}

function queues(watched: Watched): readonly Finding[] {
  const { broker, reported } = watched.view;
  const isAllReported =
    reported?.isWhole === true && watched.evidence.knowsConsumers && overlookedBy(watched) === 0;
  const depths = (broker?.queues ?? []).toSorted((a, b) => b.length - a.length);
  const workersOf = new Map(
    (reported?.consumers ?? []).map(({ queue, workers }) => [safeKey(queue), workers]),
  );
  return [
    ...depths.slice(0, LINES_MAX).map(({ queue, length, consumers }) => {
      const count = consumers ?? workersOf.get(safeKey(queue)) ?? 0;
      const isExact = consumers !== undefined || isAllReported;
      if (count === 0 && isExact && length > 0) return finding('queue-without-consumers', { queue, length });
      return finding('queue', { queue, length, consumers: consumersText(count, isExact) });
    }),
    ...more('more-queues', depths.length),
  ];
}

function consumersText(count: number, isExact: boolean): string {
  if (isExact) return count === 1 ? '1 consumer' : `${count} consumers`;
  return count === 0 ? 'consumers unknown' : `${count} or more consumers`;
}

function clocks({ workers }: CheckEvidence): readonly Finding[] {
  const skewed = [...workers].filter(([, { lagMs }]) => Number.isFinite(lagMs) && Math.abs(lagMs) >= SKEW_MS);
  return skewed.slice(0, NAMED_MAX).map(([key, { lagMs }]) =>
    finding('clock-skew', {
      worker: textOf(key),
      seconds: Math.round(Math.abs(lagMs) / 1000),
      direction: lagMs < 0 ? 'fast' : 'slow, or its events take that long',
    }),
  );
}

function more(code: 'more-workers' | 'more-queues', count: number): readonly Finding[] {
  return count > LINES_MAX ? [finding(code, { count: count - LINES_MAX })] : [];
}

function namesOf(workers: readonly WorkerReading[]): readonly string[] {
  return workers.map(({ worker }) => worker);
}
