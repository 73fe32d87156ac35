/**
 * One Celery service, wired: its broker's messages through decoding and state to its instruments, on one call stack.
 * It holds the rooms together and has no logic of theirs.
 */
import type { Meter } from '@opentelemetry/api';
import type { BrokerSettings, RawMessage } from './broker/broker.ts';
import { type Listener, listen } from './broker/session-loop.ts';
import { decode } from './celery/decode.ts';
import { REJECTION_REASONS } from './celery/rejection.ts';
import { type ClusterSettings, type ClusterSizes, createCluster } from './cluster/cluster.ts';
import type { MetricName } from './meter/catalog.ts';
import { createRecorder } from './meter/recorder.ts';
import type { SelfRecorder } from './meter/self-recorder.ts';
import type { Tell } from './self/self-event.ts';

export interface ServiceOptions {
  readonly name: string;
  readonly broker: BrokerSettings;
  readonly cluster: ClusterSettings;
  /** Those that are recorded. */
  readonly metrics: ReadonlySet<MetricName>;
  /** Where its metrics are recorded. */
  readonly meter: Meter;
  readonly self: Pick<SelfRecorder, 'eventRead'>;
  readonly tell: Tell;
  /** In [0, 1). */
  readonly random: () => number;
}

export interface ServiceState {
  readonly name: string;
  /** Whether messages can arrive now. */
  readonly connected: boolean;
  readonly tables: ClusterSizes;
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
  const cluster = createCluster(options.cluster);
  const stopping = new AbortController();

  function receive(message: RawMessage): void {
    const { events, rejections } = decode(message);
    for (const event of events) {
      options.self.eventRead(name, event.type);
      for (const observation of cluster.apply(event, message.arrivedAtMs)) recorder.record(observation);
    }
    for (const { reason, detail } of rejections) {
      tell({
        kind: 'input-dropped',
        service: name,
        reason,
        intentional: REJECTION_REASONS[reason].intentional,
        detail,
      });
    }
  }

  const told = { tasks: 0, workers: 0 };
  /** Evictions are told in sums, once per collection: under a flood there are as many as events. */
  function tellEvictions(): void {
    const { tasksEvicted, workersEvicted } = cluster.sizes();
    const news = { tasks: tasksEvicted - told.tasks, workers: workersEvicted - told.workers };
    for (const table of ['tasks', 'workers'] as const) {
      if (news[table] > 0) tell({ kind: 'table-evicted', service: name, table, count: news[table] });
      told[table] += news[table];
    }
  }

  const listener: Listener = listen({
    ...options.broker,
    service: name,
    deliver: receive,
    tell,
    random: options.random,
    signal: stopping.signal,
  });
  const readWorkers = () => {
    tellEvictions();
    return cluster.workers(listener.now());
  };
  const recorder = createRecorder(options.meter, readWorkers, options.metrics);
  tell({ kind: 'service-started', service: name, brokers: options.broker.urls.map((url) => url.label) });

  return {
    done: listener.done,
    state: () => ({ name, connected: listener.connected(), tables: cluster.sizes() }),
    async stop() {
      stopping.abort();
      await listener.done;
    },
    close: () => recorder.close(),
  };
}
