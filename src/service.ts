/**
 * One Celery service, wired: its broker's messages through decoding and state to its instruments, on one call stack.
 * It holds the rooms together and has no logic of theirs.
 */
import type { Meter } from '@opentelemetry/api';
import type { BrokerSettings, RawMessage } from './broker/broker.ts';
import { type Listener, listen } from './broker/session-loop.ts';
import { decode } from './celery/decode.ts';
import { REJECTION_REASONS } from './celery/rejection.ts';
import {
  type Cluster,
  type ClusterSettings,
  type ClusterTable,
  type ClusterTables,
  createCluster,
} from './cluster/cluster.ts';
import type { Observation, Survey } from './cluster/observation.ts';
import { createRecorder, type MetricChoice, type Recorder } from './meter/recorder.ts';
import type { ServiceReading, TableReading } from './meter/self-readings.ts';
import type { SelfRecorder } from './meter/self-recorder.ts';
import type { Tell } from './self/self-event.ts';
import { createPace, inTurns, type Turn } from './turns.ts';

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
  readonly turn: Turn;
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
  /** Stops listening; what was counted stays to be exported. */
  stop(): Promise<void>;
  /** Detaches from its meter, after the last export. */
  close(): void;
}

export function startService(options: ServiceOptions): Service {
  const { name, tell, turn } = options;
  const stopping = new AbortController();

  function observe(observation: Observation): void {
    if (observation.kind === 'clock-skewed') tell({ ...observation, service: name });
    else recorder.record(observation);
  }

  const cluster = createCluster(options.cluster, observe);

  const ready = Promise.withResolvers<boolean>();
  let wasReady = false;
  function noteReady(): void {
    if (wasReady) cluster.gap();
    wasReady = true;
    ready.resolve(true);
  }

  const recorder = createRecorder(
    options.meter,
    surveyor(options, cluster, () => listener.now()),
    options.choice,
    () => createPace(turn),
  );
  // Last, since nothing ends a listener but its service: whatever is thrown here is thrown before.
  const listener: Listener = beginOrDetach(recorder, () =>
    listen({
      ...options.broker,
      service: name,
      deliver: receiver(options, cluster),
      ready: noteReady,
      between: () => inTurns(turn, cluster.drain()),
      tell,
      random: options.random,
      signal: stopping.signal,
    }),
  );
  tell({ kind: 'service-started', service: name, brokers: options.broker.urls.map((url) => url.label) });

  let end: Awaited<Listener['done']> | undefined;
  const done = listener.done.then((why) => {
    end = why;
    ready.resolve(wasReady);
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
    async stop() {
      stopping.abort();
      await done;
      await inTurns(turn, cluster.drain());
      cluster.flush();
    },
    close: () => recorder.close(),
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

/** Says what is true when it is asked. */
function surveyor({ name, retire, tell, turn }: ServiceOptions, cluster: Cluster, now: () => number) {
  const tellEvictions = evictionTeller(name, tell);
  return async (): Promise<Survey> => {
    const survey = await inTurns(turn, cluster.survey(now()));
    tellEvictions(cluster);
    if (survey.forgotten.length > 0) retire(survey.forgotten);
    return survey;
  };
}

/** One message: decoded, counted and applied on one stack. */
function receiver({ name, self, tell }: ServiceOptions, cluster: Cluster): (message: RawMessage) => void {
  const countEvent = self.eventsOf(name);
  return (message) => {
    const { events, rejections, implausible } = decode(message);
    for (const event of events) {
      countEvent(event, message.arrivedAtMs);
      cluster.apply(event, message.arrivedAtMs);
    }
    for (const { reason, detail } of rejections) {
      const { intentional } = REJECTION_REASONS[reason];
      tell({ kind: 'input-dropped', service: name, reason, intentional, detail });
    }
    for (const { field, detail } of implausible) {
      tell({ kind: 'field-implausible', service: name, field, detail });
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
      tasks: { entries: tasks.size, limit: tasksMax },
      workers: { entries: workers.size, limit: workersMax },
      reordering_window: { entries: reordering_window.size, limit: heldMax },
      clock_skews: { entries: clock_skews.size, limit: skewPairsMax },
    } satisfies Readonly<Record<ClusterTable, TableReading>>,
  };
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
