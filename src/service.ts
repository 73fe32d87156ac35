/**
 * One Celery service, wired: its broker's messages through decoding and state to its instruments, on one call stack.
 * It holds the rooms together and has no logic of theirs.
 */
import type { Meter } from '@opentelemetry/api';
import type { BrokerSettings, Deliver } from './broker/broker.ts';
import { type Listener, listen } from './broker/session-loop.ts';
import { BODY_LIMITS } from './celery/body-limits.ts';
import { decode } from './celery/decode.ts';
import { ExpansionReserve } from './celery/expansion.ts';
import { REJECTION_REASONS } from './celery/rejection.ts';
import {
  type Cluster,
  type ClusterSettings,
  type ClusterTable,
  type ClusterTables,
  createCluster,
  type TableState,
} from './cluster/cluster.ts';
import type { Moment } from './cluster/moment.ts';
import type { ClusterView, Observation } from './cluster/observation.ts';
import { createRecorder, type MetricChoice, type Recorder } from './meter/recorder.ts';
import type { ServiceReading, TableReading } from './meter/self-readings.ts';
import type { SelfRecorder } from './meter/self-recorder.ts';
import { MissingEvents } from './self/missing-events.ts';
import type { Tell } from './self/self-event.ts';
import { createPace, runYielding, type YieldToLoop } from './yielding.ts';

const QUIET_MS = 60_000;

export interface ServiceOptions {
  readonly name: string;
  readonly broker: BrokerSettings;
  readonly cluster: ClusterSettings;
  /** What is recorded. */
  readonly choice: MetricChoice;
  /** Where its metrics are recorded. */
  readonly meter: Meter;
  /** The series of these workers are to end. */
  readonly retire: (workers: readonly string[]) => void;
  readonly self: Pick<SelfRecorder, 'eventsOf'>;
  readonly tell: Tell;
  /** In [0, 1). */
  readonly random: () => number;
  /** Waited for where there is much to do. */
  readonly yieldToLoop: YieldToLoop;
  /** For how long something that ought to be heard must be missing before that is told, in ms; tests take less. */
  readonly quietMs?: number;
}

export interface ServiceState {
  readonly name: string;
  /** `waiting` for its broker, whether it has been there or not; the others are for good. */
  readonly phase: 'waiting' | 'listening' | Awaited<Listener['done']>;
  readonly tables: ClusterTables;
}

export interface Service {
  /** Resolves with true once it has been listening, with false if that ended before. Never rejects. */
  readonly ready: Promise<boolean>;
  /** Resolves with why its listening ended for good: brokers never end by themselves, recordings do. Never rejects. */
  readonly done: Listener['done'];
  state(): ServiceState;
  /** For the bridge’s own metrics. */
  reading(): ServiceReading;
  /** Tells what ought to be heard and is not; to be called every few seconds. */
  look(): void;
  /** Stops listening; what was counted stays to be exported. */
  stop(): Promise<void>;
  /** Detaches from its meter, after the last export. */
  close(): void;
}

export function startService(options: ServiceOptions): Service {
  const { name, tell, yieldToLoop } = options;
  const stopping = new AbortController();
  const cluster = createCluster(options.cluster, (observation) => {
    recorder.record(observation);
    tellOf(options, observation);
  });
  const missing = new MissingEvents(options.quietMs ?? QUIET_MS);
  const ready = readiness(() => {
    cluster.gap();
    missing.gap();
  });

  const recorder = createRecorder(
    options.meter,
    viewer(options, cluster, () => ({ wallMs: listener.now(), listenedMs: listener.listenedMs() })),
    options.choice,
    () => createPace(yieldToLoop),
  );
  // Last, since nothing ends a listener but its service: whatever is thrown here is thrown before.
  const listener: Listener = beginOrDetach(recorder, () =>
    listen({
      ...options.broker,
      service: name,
      bodyBytesMax: BODY_LIMITS.body.max,
      deliver: receiver(options, cluster, missing),
      ready: ready.note,
      between: () => runYielding(yieldToLoop, cluster.drain()),
      tell,
      random: options.random,
      signal: stopping.signal,
    }),
  );
  tell({ kind: 'service-started', service: name, brokers: options.broker.urls.map((url) => url.label) });

  let end: Awaited<Listener['done']> | undefined;
  const done = listener.done.then((why) => {
    end = why;
    ready.end();
    return why;
  });
  return {
    ready: ready.promise,
    done,
    state: () => ({
      name,
      phase: end ?? (listener.connected() ? 'listening' : 'waiting'),
      tables: cluster.tables(),
    }),
    reading: () => readingOf(options, listener, cluster),
    look: looker(options, listener, missing),
    async stop() {
      stopping.abort();
      await done;
      await runYielding(yieldToLoop, cluster.drain());
      cluster.flush();
    },
    close: () => recorder.close(),
  };
}

/** What an observation says of the measuring itself. */
function tellOf({ name, tell }: ServiceOptions, observation: Observation): void {
  if (observation.kind === 'clock-skewed') tell({ ...observation, service: name });
  if (observation.kind !== 'loss-refuted') return;
  const { task, worker } = observation.run;
  tell({ kind: 'loss-refuted', service: name, task, worker });
}

/** @param onGap called each time it is ready again, after messages may have been missed */
function readiness(onGap: () => void) {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  let wasReady = false;
  return {
    promise,
    note(): void {
      if (wasReady) onGap();
      wasReady = true;
      resolve(true);
    },
    end: (): void => resolve(wasReady),
  };
}

/** What does not begin must not leave its recorder in a meter that may go on without it. */
function beginOrDetach<Begun>(recorder: Recorder, begin: () => Begun): Begun {
  try {
    return begin();
  } catch (error) {
    recorder.close();
    throw error;
  }
}

/** Settles what time has brought about and then says what is true, each time it is asked. */
function viewer({ name, retire, tell, yieldToLoop }: ServiceOptions, cluster: Cluster, now: () => Moment) {
  const tellEvictions = evictionTeller(name, tell);
  let underWay: Promise<ClusterView> | undefined;
  async function settledView(): Promise<ClusterView> {
    try {
      const forgotten = await runYielding(yieldToLoop, cluster.settle(now));
      tellEvictions(cluster);
      if (forgotten.length > 0) retire(forgotten);
      return await runYielding(yieldToLoop, cluster.view(now));
    } finally {
      underWay = undefined;
    }
  }
  // A provider that is not ours may have several readers, which collect side by side.
  return (): Promise<ClusterView> => {
    underWay ??= settledView();
    return underWay;
  };
}

/** One message: decoded, counted and applied on one stack. */
function receiver({ name, self, tell }: ServiceOptions, cluster: Cluster, missing: MissingEvents): Deliver {
  const countEvent = self.eventsOf(name);
  let reserve: ExpansionReserve | undefined;
  return (message, listenedMs) => {
    reserve ??= new ExpansionReserve(listenedMs);
    const { events, rejections, implausible } = decode(message, listenedMs, reserve);
    for (const event of events) {
      missing.note(event);
      countEvent(event, message.arrivedAtMs);
      cluster.apply(event, message.arrivedAtMs, listenedMs);
    }
    if (events.length === 0 && rejections.length > 0) missing.noteUnreadable();
    for (const { reason, detail } of rejections) {
      const { intentional } = REJECTION_REASONS[reason];
      tell({ kind: 'input-dropped', service: name, reason, intentional, detail });
    }
    for (const { field, detail } of implausible) {
      tell({ kind: 'field-implausible', service: name, field, detail });
    }
  };
}

function looker(
  { name: service, broker, tell }: ServiceOptions,
  listener: Listener,
  missing: MissingEvents,
): Service['look'] {
  // The time of a recording is its own, and whoever plays it knows what is in it.
  if (broker.urls.some(({ scheme }) => scheme === 'recording')) return () => {};
  const { eventExchange: exchange } = broker.amqp;
  return () => {
    for (const finding of missing.check(listener.listenedMs())) {
      tell(finding.kind === 'nothing-heard' ? { ...finding, service, exchange } : { ...finding, service });
    }
  };
}

function readingOf(
  { name, cluster: { tasksMax, workersMax, heldMax, skewPairsMax } }: ServiceOptions,
  listener: Listener,
  cluster: Cluster,
): ServiceReading {
  const { tasks, workers, reordering_window, clock_skews } = cluster.tables();
  return {
    service: name,
    connected: listener.connected(),
    tables: {
      tasks: tableReading(tasks, tasksMax),
      workers: tableReading(workers, workersMax),
      reordering_window: tableReading(reordering_window, heldMax),
      clock_skews: tableReading(clock_skews, skewPairsMax),
    } satisfies Readonly<Record<ClusterTable, TableReading>>,
  };
}

function tableReading({ size: entries, bytes, bytesMax }: TableState, limit: number): TableReading {
  return { entries, limit, bytes, bytesMax };
}

/** Evictions are told in sums, once per collection: under a flood there are as many as events. */
function evictionTeller(service: string, tell: Tell): (cluster: Cluster) => void {
  const told = new Map<string, number>();
  return (cluster) => {
    const { tasks, workers, reordering_window, clock_skews } = cluster.tables();
    const evictions = [
      ['tasks', tasks.evicted],
      ['workers', workers.evicted],
      ['reordering_window', reordering_window.evicted],
      ['clock_skews', clock_skews.evicted],
      ['fixed_bounds', cluster.beyondFixedBounds()],
    ] as const;
    for (const [table, evicted] of evictions) {
      const count = evicted - (told.get(table) ?? 0);
      if (count > 0) tell({ kind: 'table-evicted', service, table, count });
      told.set(table, evicted);
    }
  };
}
