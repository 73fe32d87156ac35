/**
 * One Celery service, wired: its broker's messages through decoding and state to its instruments, on one call stack.
 * It holds the rooms together and has no logic of theirs.
 */
import type { Meter } from '@opentelemetry/api';
import type { BrokerSettings, RawMessage } from './broker/broker.ts';
import { type Listener, listen } from './broker/session-loop.ts';
import { decode } from './celery/decode.ts';
import { REJECTION_REASONS } from './celery/rejection.ts';
import { type Cluster, type ClusterSettings, type ClusterTables, createCluster } from './cluster/cluster.ts';
import type { Observation } from './cluster/observation.ts';
import { createRecorder, type MetricChoice } from './meter/recorder.ts';
import type { SelfRecorder } from './meter/self-recorder.ts';
import type { Tell } from './self/self-event.ts';

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
}

export interface ServiceState {
  readonly name: string;
  /** Whether messages can arrive now. */
  readonly connected: boolean;
  readonly tables: ClusterTables;
}

export interface Service {
  /** Resolves with why its listening ended for good: brokers never end by themselves, recordings do. Never rejects. */
  readonly done: Listener['done'];
  state(): ServiceState;
  /** Stops listening; what was counted stays to be exported. */
  stop(): Promise<void>;
  /** Detaches from its meter, after the last export. */
  close(): void;
}

export function startService(options: ServiceOptions): Service {
  const { name, tell } = options;
  const stopping = new AbortController();

  function observe(observation: Observation): void {
    if (observation.kind === 'clock-skewed') tell({ ...observation, service: name });
    else recorder.record(observation);
  }

  const cluster = createCluster(options.cluster, observe);

  const countEvent = options.self.eventsOf(name);
  function receive(message: RawMessage): void {
    const { events, rejections } = decode(message);
    for (const event of events) {
      countEvent(event.type);
      cluster.apply(event, message.arrivedAtMs);
    }
    for (const { reason, detail } of rejections) {
      const { intentional } = REJECTION_REASONS[reason];
      tell({ kind: 'input-dropped', service: name, reason, intentional, detail });
    }
  }

  let wasReady = false;
  function noteGap(): void {
    if (wasReady) cluster.gap();
    wasReady = true;
  }

  const listener: Listener = listen({
    ...options.broker,
    service: name,
    deliver: receive,
    ready: noteGap,
    tell,
    random: options.random,
    signal: stopping.signal,
  });
  const tellEvictions = evictionTeller(name, tell);
  const recorder = createRecorder(
    options.meter,
    () => {
      const survey = cluster.survey(listener.now());
      tellEvictions(cluster);
      if (survey.forgotten.length > 0) options.retire(survey.forgotten);
      return survey;
    },
    options.choice,
  );
  tell({ kind: 'service-started', service: name, brokers: options.broker.urls.map((url) => url.label) });

  return {
    done: listener.done,
    state: () => ({ name, connected: listener.connected(), tables: cluster.tables() }),
    async stop() {
      stopping.abort();
      await listener.done;
      cluster.flush();
    },
    close: () => recorder.close(),
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
