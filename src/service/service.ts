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
import { createPace, runYielding } from '../timing/cooperative.ts';
import { Activity, type ServiceActivity } from './activity/activity.ts';
import { glance, viewer } from './cluster-views.ts';
import { InstanceWatch } from './instance-watch.ts';
import { missingReporter, receiver } from './message-handler.ts';
import { MissingEvents } from './missing-events.ts';
import { type AskingOptions, asker } from './polling.ts';
import { Pulse, type ServiceState } from './service-state.ts';
import { createReporting, type Reporting, type Reports } from './telemetry.ts';

const QUIET_MS = 60_000;

export interface ServiceOptions extends AskingOptions {
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
  const reporting = createReporting({ ...options, ...options.reports, service: name }, (...measured) =>
    recorder.exemplify(...measured),
  );
  const watchers = watchersOf(options, reporting);
  const record: Observe = (observation) => recorder.record(observation);
  const cluster = observedCluster(options, watchers, record, () => listener.now());
  const gap = (): void => {
    cluster.gap();
    watchers.missing.gap();
  };
  const ready = readiness(gap);

  const recorder = createRecorder(
    options.meter,
    watchers.pulse.following(viewer(options, cluster, () => now())),
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
    activity: () => activityOf(watchers, glance(yieldToLoop, cluster, now), listener.now),
    reading: () => reading(name, listener, cluster, watchers),
    look: looker(options, listener, watchers),
    reconnect: listener.reconnect,
    async stop() {
      stopping.abort();
      await done;
      await runYielding(yieldToLoop, cluster.drain());
      cluster.flush();
      reporting?.end(listener.now());
    },
    close: () => recorder.close(),
  };
}

function stateOf(
  name: string,
  phase: ServiceState['phase'],
  { pulse }: Watchers,
  listener: Listener,
  cluster: Cluster,
): ServiceState {
  return { name, phase, ...pulse.read(listener.now()), tables: cluster.tables() };
}

async function activityOf(
  { activity, pulse }: Watchers,
  view: () => Promise<ClusterView>,
  nowMs: () => number,
): Promise<ServiceActivity | undefined> {
  const viewed = activity && (await view());
  return viewed && pulse.activity(nowMs(), viewed);
}

function reading(
  service: string,
  listener: Listener,
  cluster: Cluster,
  { instances: { count: instances } }: Watchers,
): ServiceReading {
  const ageMs = cluster.answers.toldAgeMs?.();
  const toldAgeS = ageMs === undefined ? undefined : ageMs / 1000;
  return { service, connected: listener.connected(), toldAgeS, instances, tables: cluster.tables() };
}

/** A reply that cannot be encoded ends the consumption of a worker there (`broker/control/commands.ts`). */
function announce({ name: service, broker, control, tell }: ServiceOptions): void {
  tell({ kind: 'service-started', service, brokers: broker.urls.map((url) => url.label) });
  const commands = RISKY_COMMANDS.filter((command) => commandsOf(control).includes(command));
  const isOnRedis = broker.urls.some(({ scheme }) => scheme.startsWith('redis') || scheme === 'sentinel');
  if (isOnRedis && commands.length > 0) tell({ kind: 'workers-endangered', service, commands });
}

/** Who else is told of events. */
interface Watchers {
  readonly missing: MissingEvents;
  readonly pulse: Pulse;
  readonly activity: Activity | undefined;
  readonly reporting: Reporting | undefined;
  readonly instances: InstanceWatch;
}

function watchersOf(
  { name, tell, quietMs = QUIET_MS, activity: keepsActivity }: ServiceOptions,
  reporting: Reporting | undefined,
): Watchers {
  const activity = keepsActivity === true ? new Activity() : undefined;
  return {
    activity,
    missing: new MissingEvents(quietMs),
    pulse: new Pulse(() => performance.now(), activity),
    reporting,
    instances: new InstanceWatch(name, tell),
  };
}

/** What a listener does with messages and with answers of the broker. */
function listening(
  options: ServiceOptions,
  cluster: Cluster,
  watchers: Watchers,
  now: () => Moment,
): Omit<ListenOptions, 'signal'> {
  const { name: service, broker, tell, random, yieldToLoop, self } = options;
  const { missing, pulse, reporting } = watchers;
  const ask = asker(options, cluster, now);
  return {
    ...{ ...broker, service, isExported: true, tell, random },
    bodyBytesMax: BODY_LIMITS.body.max,
    deliver: receiver({
      ...{ service, cluster, pulse, missing, tell },
      ...{ countEvent: self.eventsOf(service), wants: reporting?.wants },
    }),
    between: () => runYielding(yieldToLoop, cluster.drain()),
    during(session) {
      const stopAsking = ask(session);
      const stopWatching = watchers.instances.during(session);
      return () => {
        stopAsking();
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
  { reporting, activity }: Watchers,
  observe: Observe,
  nowMs: () => number,
): Cluster {
  const settings = { ...options.cluster, hashSeed: seedOf(options) };
  const observed: Observe = (observation) => {
    observe(observation);
    reporting?.observe(observation, nowMs());
    activity?.observe(observation, nowMs());
    reportObservation(options, observation);
  };
  return createCluster(settings, observed, reporting?.listener);
}

/** Reports observations about the measurement itself. */
function reportObservation({ name, tell }: ServiceOptions, observation: Observation): void {
  if (observation.kind === 'clock-skewed') tell({ ...observation, service: name });
  if (observation.kind !== 'loss-refuted') return;
  const { task, worker } = observation.run;
  tell({ kind: 'loss-refuted', service: name, task, worker });
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

function looker(
  { name, broker, tell }: ServiceOptions,
  listener: Listener,
  { missing, reporting }: Watchers,
): Service['look'] {
  const look = missingReporter(missing, { name, broker }, tell);
  return () => {
    reporting?.look(listener.now());
    look(listener.listenedMs());
  };
}
