/**
 * Wires one Celery service: messages of its broker go through decoding and state to its instruments, on one call stack.
 * It connects the rooms and has none of their logic.
 */
import type { Meter } from '@opentelemetry/api';
import type { BrokerSettings } from '../broker/broker.ts';
import { commandsOf } from '../broker/control/asked-commands.ts';
import { RISKY_COMMANDS } from '../broker/control/commands.ts';
import { gapsOf } from '../broker/session/gaps.ts';
import { type Listener, type ListenOptions, listen } from '../broker/session/session-loop.ts';
import { BODY_LIMITS } from '../celery/body-limits.ts';
import { type Cluster, type ClusterSettings, createCluster } from '../cluster/cluster.ts';
import type { Moment } from '../cluster/moment.ts';
import type { ClusterView, Observation, Observe } from '../cluster/observation.ts';
import { createRecorder, type Recorder } from '../meter/recorder.ts';
import type { ServiceReading } from '../meter/self-readings.ts';
import type { SelfRecorder } from '../meter/self-recorder.ts';
import { createPace, runCooperatively } from '../timing/cooperative.ts';
import { finishedRuns } from '../tracer/ancestry/finished-runs.ts';
import { Activity, type ServiceActivity } from './activity/activity.ts';
import { clusterViews, viewWithoutSettling } from './cluster-views.ts';
import { InstanceWatch } from './instance-watch.ts';
import { messageHandler, missingReporter } from './message-handler.ts';
import { MissingEvents } from './missing-events.ts';
import { type ServicePollingOptions, servicePoller } from './polling.ts';
import { EventRates, type ServiceState } from './service-state.ts';
import { createTelemetry, type Reports, type Telemetry } from './telemetry.ts';

const QUIET_MS = 60_000;

export interface ServiceOptions extends ServicePollingOptions {
  readonly broker: BrokerSettings;
  readonly cluster: ClusterSettings;
  /** Where its metrics are recorded. */
  readonly meter: Meter;
  /** Ends the series of these workers. */
  readonly retire: (workers: readonly string[]) => void;
  readonly self: Pick<SelfRecorder, 'eventsOf'>;
  /** Where its spans and log records go, and which runs have exemplars. */
  readonly reports?: Reports;
  /** Keeps what `activity` returns; by default it is not kept. */
  readonly activity?: boolean;
  /** After how long missing events are reported, ms; tests use less. */
  readonly quietMs?: number;
}

export interface Service {
  /** Resolves with true once it has connected, or false if it ended before. Never rejects. */
  readonly ready: Promise<boolean>;
  /** Resolves with why it ended for good: recordings end by themselves, brokers never. Never rejects. */
  readonly done: Listener['done'];
  state(): ServiceState;
  /** What its workers, queues and tasks do, some seconds old at most; undefined if it is not kept. */
  activity(): Promise<ServiceActivity | undefined>;
  /** For the bridge’s own metrics. */
  reading(): ServiceReading;
  /** Reports missing events; call it every few seconds. */
  look(): void;
  /** Ends the session with its broker; another one follows. */
  reconnect(reason: string): void;
  /** Stops listening; counts can still be exported. */
  stop(): Promise<void>;
  /** Detaches from its meter, after the last export. */
  close(): void;
}

export function startService(options: ServiceOptions): Service {
  const { name, yieldToLoop } = options;
  const stopping = new AbortController();
  const telemetry = createTelemetry({ ...options, ...options.reports, service: name }, (...measured) =>
    recorder.exemplify(...measured),
  );
  const watchers = watchersOf(options, telemetry);
  const record: Observe = (observation) => recorder.record(observation);
  const cluster = observedCluster(options, watchers, record, () => listener.now());
  const gap = (): void => {
    cluster.gap();
    watchers.missing.gap();
  };
  const ready = readiness(gap);

  const recorder = createRecorder(
    options.meter,
    watchers.eventRates.following(clusterViews(options, cluster, () => now())),
    options.choice,
    () => createPace(yieldToLoop),
  );
  // Last, since only its service ends a listener: anything that throws must do so before.
  const listener: Listener = beginOrDetach(recorder, () =>
    listen({
      ...listening(options, cluster, watchers, () => now()),
      ready: ready.note,
      missed: gap,
      signal: stopping.signal,
    }),
  );
  const now = (): Moment => ({ wallMs: listener.now(), listenedMs: listener.listenedMs() });
  announce(options);

  let end: Awaited<Listener['done']> | undefined;
  const done = listener.done.then((why) => {
    end = why;
    ready.end();
    return why;
  });
  return {
    ready: ready.promise,
    done,
    state: () =>
      stateOf(name, end ?? (listener.connected() ? 'listening' : 'waiting'), watchers, listener, cluster),
    activity: () => activityOf(watchers, viewWithoutSettling(yieldToLoop, cluster, now), listener.now),
    reading: () => reading(name, listener, cluster, watchers),
    look: periodicCheck(options, listener, watchers),
    reconnect: listener.reconnect,
    async stop() {
      stopping.abort();
      await done;
      await runCooperatively(yieldToLoop, cluster.drain());
      cluster.flush();
      telemetry?.end(listener.now());
    },
    close: () => recorder.close(),
  };
}

function stateOf(
  name: string,
  phase: ServiceState['phase'],
  { eventRates }: Watchers,
  listener: Listener,
  cluster: Cluster,
): ServiceState {
  return { name, phase, ...eventRates.read(listener.now()), tables: cluster.tables() };
}

async function activityOf(
  { activity, eventRates }: Watchers,
  view: () => Promise<ClusterView>,
  nowMs: () => number,
): Promise<ServiceActivity | undefined> {
  const viewed = activity && (await view());
  return viewed && eventRates.activity(nowMs(), viewed);
}

function reading(
  service: string,
  listener: Listener,
  cluster: Cluster,
  { instances: { count: instances } }: Watchers,
): ServiceReading {
  const ageMs = cluster.answers.reportAgeMs?.();
  const reportAgeS = ageMs === undefined ? undefined : ageMs / 1000;
  return { service, connected: listener.connected(), reportAgeS, instances, tables: cluster.tables() };
}

/** A reply that cannot be encoded ends the consumption of a worker there (`broker/control/commands.ts`). */
function announce({ name: service, broker, control, report }: ServiceOptions): void {
  report({ kind: 'service-started', service, brokers: broker.urls.map((url) => url.label) });
  const commands = RISKY_COMMANDS.filter((command) => commandsOf(control).includes(command));
  const isOnRedis = broker.urls.some(({ scheme }) => scheme.startsWith('redis') || scheme === 'sentinel');
  if (isOnRedis && commands.length > 0) report({ kind: 'workers-endangered', service, commands });
}

/** Who else is told of events. */
interface Watchers {
  readonly missing: MissingEvents;
  readonly eventRates: EventRates;
  readonly activity: Activity | undefined;
  readonly telemetry: Telemetry | undefined;
  readonly instances: InstanceWatch;
}

function watchersOf(
  { name, report, quietMs = QUIET_MS, activity: keepsActivity }: ServiceOptions,
  telemetry: Telemetry | undefined,
): Watchers {
  const activity = keepsActivity === true ? new Activity() : undefined;
  return {
    activity,
    missing: new MissingEvents(quietMs),
    eventRates: new EventRates(() => performance.now(), activity),
    telemetry,
    instances: new InstanceWatch(name, report),
  };
}

/** What a listener does with messages and with answers of the broker. */
function listening(
  options: ServiceOptions,
  cluster: Cluster,
  watchers: Watchers,
  now: () => Moment,
): Omit<ListenOptions, 'signal'> {
  const { name: service, broker, report, random, yieldToLoop, self } = options;
  const { missing, eventRates, telemetry } = watchers;
  const ask = servicePoller(options, cluster, now);
  return {
    ...{ ...broker, service, isExported: true, report, random },
    bodyBytesMax: BODY_LIMITS.body.max,
    deliver: messageHandler({
      ...{ service, cluster, eventRates, missing, report },
      ...{ countEvent: self.eventsOf(service), wants: telemetry?.wants },
    }),
    between: () => runCooperatively(yieldToLoop, cluster.drain()),
    during(session) {
      const stopPolling = ask(session);
      const stopWatching = watchers.instances.during(session);
      return () => {
        stopPolling();
        stopWatching();
      };
    },
  };
}

/** 32 bits that no sender knows. */
function seedOf({ random }: ServiceOptions): number {
  return Math.floor(random() * 2 ** 32);
}

/** A cluster whose observations are reported, too, where they are about the measurement itself. */
function observedCluster(
  options: ServiceOptions,
  { telemetry, activity }: Watchers,
  observe: Observe,
  nowMs: () => number,
): Cluster {
  const settings = { ...options.cluster, hashSeed: seedOf(options) };
  const observed: Observe = (observation) => {
    observe(observation);
    telemetry?.observe(observation, nowMs());
    activity?.observe(observation, nowMs());
    reportObservation(options, observation);
  };
  return createCluster(settings, observed, telemetry && finishedRuns(telemetry.listener));
}

/** Reports observations about the measurement itself. */
function reportObservation({ name, report }: ServiceOptions, observation: Observation): void {
  if (observation.kind === 'clock-skewed') report({ ...observation, service: name });
  if (observation.kind !== 'loss-refuted') return;
  const { task, worker } = observation.run;
  report({ kind: 'loss-refuted', service: name, task, worker });
}

/** @param onGap called after each reconnect: messages may have been missed */
function readiness(onGap: () => void) {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const gaps = gapsOf(onGap);
  return {
    promise,
    note(): void {
      gaps.ready();
      resolve(true);
    },
    end: (): void => resolve(false),
  };
}

/** A service that fails to start must not leave its recorder in a meter that is used further. */
function beginOrDetach<Begun>(recorder: Recorder, begin: () => Begun): Begun {
  try {
    return begin();
  } catch (error) {
    recorder.close();
    throw error;
  }
}

function periodicCheck(
  { name, broker, report }: ServiceOptions,
  listener: Listener,
  { missing, telemetry }: Watchers,
): Service['look'] {
  const look = missingReporter(missing, { name, broker }, report);
  return () => {
    telemetry?.look(listener.now());
    look(listener.listenedMs());
  };
}
