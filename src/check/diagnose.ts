/**
 * What the sightings of one service mean, in the order in which an operator looks: broker, workers, events, queues, clocks,
 * dangers. Pure: it asks nobody, and knows no time but the one it is given.
 */
import type { QueueDepth } from '../broker/broker-reading.ts';
import type { ClusterView, WorkerReading } from '../cluster/observation.ts';
import { mapKey, textOf } from '../map-key.ts';
import { type Dangers, dangers } from './dangers.ts';
import type { Sightings, WorkerSighting } from './sightings.ts';
import { type Finding, finding, findingAbout } from './symptoms.ts';

export interface Watched extends Dangers {
  readonly sightings: Sightings;
  /** The state of the cluster at the end. */
  readonly view: ClusterView;
  /** For how long it was watched, ms. */
  readonly watchedMs: number;
  /** Listened time at the end. */
  readonly listenedMs: number;
  /** All addresses of the broker. */
  readonly addresses: string;
  /** That events should come from; only RabbitMQ knows whether it is there. */
  readonly exchange: string | undefined;
  /** Whether workers were asked: `impossible` with a recording. */
  readonly asking: 'on' | 'off' | 'impossible';
}

/** Lines about single workers or queues. */
const LINES_MAX = 20;
const NAMED_MAX = 5;
/** Workers batch task events for up to a second; after this time they have sent those of the tasks in a heartbeat. */
const BATCHED_MS = 2000;
/** Fewer tasks may all have been sent before the check began. */
const RECEIVED_MIN = 3;
const SKEW_MS = 2000;

export function diagnose(watched: Watched): readonly Finding[] {
  const { sightings } = watched;
  if (sightings.broker === undefined) return [...unconnected(watched)];
  return [
    finding('broker-reached', { broker: sightings.broker }),
    ...exchanges(watched),
    ...troubles(watched),
    ...workers(watched),
    ...events(watched),
    ...instances(sightings),
    ...queues(watched.view),
    ...clocks(sightings),
    ...dangers(watched),
  ];
}

function unconnected({ sightings, addresses: broker }: Watched): readonly Finding[] {
  const refused = sightings.trouble('refused');
  const unreachable = sightings.trouble('unreachable');
  const { reason } = unreachable ?? { reason: 'no answer in time' };
  return [
    ...(refused === undefined ? [] : [finding('broker-refused', { broker, reason: refused.reason })]),
    ...(refused === undefined || unreachable !== undefined
      ? [finding('broker-unreachable', { broker, reason })]
      : []),
  ];
}

function exchanges({ sightings, exchange }: Watched): readonly Finding[] {
  if (exchange === undefined) return [];
  const isThere = sightings.exchange !== undefined;
  return [
    finding(isThere ? 'exchange-found' : 'exchange-missing', { exchange, broker: sightings.broker ?? '' }),
  ];
}

/** What kept the check, or keeps celery-otel, from knowing more. */
function troubles({ sightings, asking }: Watched): readonly Finding[] {
  const broker = sightings.broker ?? '';
  const rows = [
    ['lost', 'connection-lost'],
    ['blocked', 'publishers-blocked'],
    ['publishing', 'publishing-refused'],
    ['asking', 'remote-control-failed'],
    ['replies', 'remote-control-faulty'],
    ['polls', 'queues-unread'],
    ['unreadable', 'events-unreadable'],
  ] as const;
  const found = rows.flatMap(([kind, code]) => {
    const trouble = sightings.trouble(kind);
    return trouble === undefined ? [] : [finding(code, { ...trouble, broker })];
  });
  return asking === 'off' ? [...found, finding('remote-control-off')] : found;
}

function workers({ sightings, view, watchedMs, asking }: Watched): readonly Finding[] {
  const up = view.workers.filter((worker) => worker.up);
  if (up.length === 0) return [invisible(sightings, view, Math.round(watchedMs / 1000))];
  const beats = (worker: WorkerReading): boolean =>
    (sightings.workers.get(mapKey(worker.worker))?.heartbeats ?? 0) > 0;
  const replied = (worker: WorkerReading): boolean => worker.told !== undefined;
  // After a disconnect, what they told is not known any more.
  const obstacle = sightings.trouble('asking') ?? sightings.trouble('lost');
  const silent = asking === 'on' && obstacle === undefined ? up.filter((worker) => !replied(worker)) : [];
  const withoutHeartbeat = up.filter((worker) => replied(worker) && !beats(worker));
  return [
    finding('workers-seen', {
      count: up.length,
      heartbeats: up.filter(beats).length,
      replies: up.filter(replied).length,
    }),
    ...up.slice(0, LINES_MAX).map((worker) => finding('worker', about(worker))),
    ...more('more-workers', up.length),
    ...findingAbout('no-reply', namesOf(silent)),
    ...findingAbout('no-heartbeat', namesOf(withoutHeartbeat)),
  ];
}

/** No worker, or some that are only known by what they consume. */
function invisible({ reachesWorkers }: Sightings, { broker }: ClusterView, seconds: number): Finding {
  const consumed = broker?.queues.find(({ consumers = 0 }) => consumers > 0);
  if (consumed !== undefined)
    return finding('workers-hidden', { seconds, evidence: `the queue ${consumed.queue} is consumed` });
  return reachesWorkers
    ? finding('workers-hidden', { seconds, evidence: 'questions reach one' })
    : finding('no-workers', { seconds });
}

function about({ worker, versions, pool, told }: WorkerReading): Readonly<Record<string, string>> {
  const { processes } = told?.stats ?? {};
  const size = processes === undefined ? '' : ` of ${processes}`;
  return {
    worker,
    version: versions[0]?.version || 'of an unknown version',
    pool: pool === undefined ? 'pool unknown' : `pool ${pool}${size}`,
  };
}

/** Whether task events and task-sent events are on. */
function events({ sightings, view, listenedMs }: Watched): readonly Finding[] {
  const found: Record<Sending, string[]> = { on: [], off: [], unknown: [] };
  for (const worker of view.workers) {
    if (!worker.up) continue;
    found[sending(sightings.workers.get(mapKey(worker.worker)), listenedMs)].push(worker.worker);
  }
  const { sent, received } = sightings;
  const isBacklog = (view.broker?.queues ?? []).some(({ length }) => length > 0);
  // Without task events, nothing says how many tasks there were.
  const isKnown = sent > 0 || found.on.length > 0;
  return [
    ...findingAbout('task-events-on', found.on),
    ...findingAbout('task-events-off', found.off),
    ...findingAbout('task-events-unknown', found.unknown),
    ...(isKnown ? [taskSent(sent, isBacklog ? 0 : received)] : []),
  ];
}

type Sending = 'on' | 'off' | 'unknown';

function sending(worker: WorkerSighting | undefined, listenedMs: number): Sending {
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

function instances({ instances: count = 0 }: Sightings): readonly Finding[] {
  if (count === 0) return [];
  return [count === 1 ? finding('exported-already') : finding('exported-twice', { count })];
}

function queues({ broker, told }: ClusterView): readonly Finding[] {
  const depths = (broker?.queues ?? []).toSorted((a, b) => b.length - a.length);
  const workersOf = new Map((told?.consumers ?? []).map(({ queue, workers }) => [mapKey(queue), workers]));
  const count = ({ queue, consumers }: QueueDepth): number | undefined =>
    consumers ?? (told === undefined ? undefined : (workersOf.get(mapKey(queue)) ?? 0));
  return [
    ...depths.slice(0, LINES_MAX).map((depth) => {
      const consumers = count(depth);
      const { queue, length } = depth;
      if (consumers === 0 && length > 0) return finding('queue-without-consumers', { queue, length });
      const known = consumers === undefined ? 'consumers unknown' : `${consumers} consumers`;
      return finding('queue', { queue, length, consumers: consumers === 1 ? '1 consumer' : known });
    }),
    ...more('more-queues', depths.length),
  ];
}

function clocks({ workers }: Sightings): readonly Finding[] {
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
