/**
 * Opens one Celery service for any command. Its messages go from the broker through decoding and state to metrics,
 * spans and records, on one call stack. Only this file connects the rooms; it has none of their logic.
 */
import type { Meter } from '@opentelemetry/api';
import type { BrokerSettings, Deliver, Session } from '../broker/broker.ts';
import { commandsOf } from '../broker/control/asked-commands.ts';
import { RISKY_COMMANDS } from '../broker/control/commands.ts';
import { kindsOf } from '../broker/kinds.ts';
import { gapsOf } from '../broker/session/gaps.ts';
import type { Listener } from '../broker/session/session-loop.ts';
import type { Transports } from '../broker/transports.ts';
import type { DecodeWants } from '../celery/decode.ts';
import type { Answers } from '../cluster/answers.ts';
import { type Cluster, type ClusterSettings, createCluster } from '../cluster/cluster.ts';
import type { Moment } from '../cluster/moment.ts';
import type { ClusterView, Observation, Observe } from '../cluster/observation.ts';
import type { Steps } from '../cluster/steps.ts';
import type { TracesConfig } from '../config/config.ts';
import { shownTexts } from '../logger/error-texts.ts';
import { createRecorder, type MetricChoice, type Recorder } from '../meter/recorder.ts';
import type { ServiceReading } from '../meter/self-readings.ts';
import type { CountEvent } from '../meter/self-recorder.ts';
import type { EventSink } from '../self/self-event.ts';
import { createPace, runCooperatively, type YieldToLoop } from '../timing/cooperative.ts';
import { finishedRuns } from '../tracer/ancestry/finished-runs.ts';
import { Activity, type ServiceActivity } from './activity/activity.ts';
import type { ServiceLookup } from './activity/service-lookup.ts';
import { clusterViews } from './cluster-views.ts';
import { InstanceWatch } from './instance-watch.ts';
import {
  type LookForMissing,
  type MessageHandlerOptions,
  messageHandler,
  missingReporter,
} from './message-handler.ts';
import { MissingEvents } from './missing-events.ts';
import { openListener } from './open-listener.ts';
import { type ServicePollingOptions, servicePoller } from './polling.ts';
import { EventRates, type PeriodicTask, type ServiceState } from './service-state.ts';
import { createTelemetry, type Reports, shownSettings, type Telemetry } from './telemetry.ts';

/** By default, missing events are reported after this long. */
const QUIET_MS = 60_000;

/** What to ask the broker and the workers, and how often; name and `random` default to those of the service. */
export type PollingChoice = Pick<ServicePollingOptions, 'polls' | 'control' | 'taskDefaultQueue' | 'choice'> &
  Partial<Pick<ServicePollingOptions, 'name' | 'random' | 'onReply'>>;

/** Where metrics are recorded. */
export interface MetricsSink {
  readonly meter: Meter;
  readonly choice: MetricChoice;
  /** Ends the series of workers that were forgotten. */
  readonly retire: (workers: readonly string[]) => void;
  /**
   * Registers a callback that is awaited before each collection. The `MeterProvider` of another program has no such
   * hook; there, the callback of the gauges settles the cluster itself.
   */
  readonly beforeCollect?: ((prepare: () => Promise<void>) => void) | undefined;
  readonly countEvent: CountEvent;
}

/** Sees each event and reply before it is applied. */
export interface Evidence {
  /** Returns whether to apply the event. */
  readonly admit: NonNullable<MessageHandlerOptions['admit']>;
  /** Replaces the receiver of replies. */
  readonly answers?: (answers: Answers) => Answers;
  /** Optional fields to decode; ignored if spans or log records are made. */
  readonly wants?: DecodeWants;
}

export interface ServiceOptions {
  readonly name: string;
  readonly broker: BrokerSettings;
  readonly cluster: ClusterSettings;
  readonly report: EventSink;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
  /** Awaited between the steps of long work. */
  readonly yieldToLoop: YieldToLoop;
  /** The tasks that must succeed regularly. */
  readonly staleAfter?: readonly Pick<PeriodicTask, 'task' | 'staleAfterS'>[] | undefined;
  /** By default, neither the broker nor the workers are asked anything. */
  readonly polling?: PollingChoice;
  /** By default, no metrics are recorded. */
  readonly metrics?: MetricsSink;
  /** Where spans and log records go, and which runs get exemplars. */
  readonly reports?: Reports;
  /** Whether to keep what `activity` and `lookup` return; by default not. */
  readonly activity?: boolean;
  /** How many finished runs are remembered with the activity; by default none, which takes less memory and time. */
  readonly runsMax?: number;
  /** What to show of exceptions where there are neither spans nor log records; by default everything but secrets. */
  readonly exceptions?: TracesConfig['exceptions'];
  readonly evidence?: Evidence;
  /**
   * Whether the service only observes: it declares nothing permanent, does not search for other instances, and reports
   * nothing about the measurement.
   */
  readonly isObserver?: boolean;
  /** Called with each session after it has opened. */
  readonly during?: (session: Session) => void;
  /** Aborting it stops listening; events that are still held for ordering are applied only by `stop`. */
  readonly signal?: AbortSignal;
  /** Missing events are reported after this many ms; tests use less. */
  readonly quietMs?: number;
  /** For tests; by default all transports. */
  readonly transports?: Transports | undefined;
}

/** @throws an error of the meter or of the broker settings; nothing is open then */
export function openService(options: ServiceOptions): Service {
  return new Service(options);
}

export class Service {
  /** Resolves with true after the first connection, or with false if the service ended before. Never rejects. */
  readonly ready: Promise<boolean>;
  /** Resolves with the reason of the final end; recordings end on their own, brokers never do. Never rejects. */
  readonly done: Listener['done'];
  readonly #options: ServiceOptions;
  readonly #isObserver: boolean;
  readonly #stopping = new AbortController();
  readonly #missing: MissingEvents;
  readonly #activity: Activity | undefined;
  readonly #eventRates: EventRates;
  readonly #instances: InstanceWatch | undefined;
  readonly #telemetry: Telemetry | undefined;
  readonly #cluster: Cluster;
  readonly #recorder: Recorder | undefined;
  readonly #listener: Listener;
  /** Settles the cluster, then views it. */
  readonly view: () => Promise<ClusterView>;
  readonly #look: LookForMissing;
  #end: Awaited<Listener['done']> | undefined;

  constructor(options: ServiceOptions) {
    const { name, report, metrics, yieldToLoop } = options;
    this.#options = options;
    this.#isObserver = options.isObserver === true;
    this.#missing = new MissingEvents(options.quietMs ?? QUIET_MS);
    this.#look = missingReporter(this.#missing, options, report);
    this.#activity = options.activity === true ? new Activity(options.runsMax) : undefined;
    this.#eventRates = new EventRates(() => performance.now(), this.#activity, options.staleAfter);
    this.#instances = this.#isObserver ? undefined : new InstanceWatch(name, report);
    const remember = (options.runsMax ?? 0) > 0 ? this.#activity?.runs : undefined;
    this.#telemetry = createTelemetry(
      { ...options, ...options.reports, service: name, remember },
      (...measured) => this.#recorder?.exemplify(...measured),
    );
    const settings = { ...options.cluster, hashSeed: seedOf(options) };
    const observe: Observe = (observation) => this.#observe(observation);
    const listener = this.#telemetry?.listener;
    this.#cluster = createCluster(settings, observe, listener && finishedRuns(listener));
    const retire = metrics?.retire ?? (() => {});
    const views = clusterViews({ name, retire, report, yieldToLoop }, this.#cluster, () => this.now());
    this.view = this.#eventRates.keepingNumbers(views, () => this.#listener.now());
    this.#recorder = metrics && this.#record(metrics);
    const ready = Promise.withResolvers<boolean>();
    // Started last, because only its service ends a listener: whatever can throw must do so before.
    this.#listener = beginOrDetach(this.#recorder, () => this.#listen(() => ready.resolve(true)));
    if (!this.#isObserver) announce(options);
    this.ready = ready.promise;
    this.done = this.#listener.done.then((why) => {
      this.#end = why;
      ready.resolve(false);
      return why;
    });
  }

  get name(): string {
    return this.#options.name;
  }

  /** Whether messages can arrive now. */
  connected(): boolean {
    return this.#listener.connected();
  }

  /** The time, by the clocks of the listener. */
  now(): Moment {
    return { wallMs: this.#listener.now(), listenedMs: this.#listener.listenedMs() };
  }

  state(): ServiceState {
    return {
      name: this.name,
      phase: this.#end ?? (this.connected() ? 'listening' : 'waiting'),
      ...this.#eventRates.read(this.#listener.now()),
      tables: this.#cluster.tables(),
    };
  }

  /** Recent activity of workers, queues and tasks; it may be some seconds old. Undefined if none is kept. */
  async activity(): Promise<ServiceActivity | undefined> {
    if (this.#activity === undefined) return undefined;
    // With a recorder, each collection settles the cluster; the page does not wait for the next one.
    const view = this.#recorder ? this.#run(this.#cluster.view(() => this.now())) : this.view();
    return this.#eventRates.activity(this.#listener.now(), await view);
  }

  /** Looks up single tasks, queues, workers and runs; undefined if no activity is kept. */
  lookup(): ServiceLookup | undefined {
    const activity = this.#activity;
    if (activity === undefined) return undefined;
    const { lookup } = this.#cluster;
    this.#eventRates.keepTraffic();
    return {
      nowMs: this.#listener.now(),
      runs: activity.runs,
      redacted: (error) => shownTexts(error, shownSettings(this.#options.reports, this.#options.exceptions)),
      hourOfTask: (name, nowMs) => activity.hourOfTask(name, nowMs),
      hourOfQueue: (name, nowMs) => activity.hourOfQueue(name, nowMs),
      exitsOf: (worker) => activity.exitsOf(worker),
      openRuns: (id) => lookup.openRuns(id, this.now()),
      runningOn: (nodename, most) => lookup.runningOn(nodename, most, this.now()),
      queuesOf: (nodename) => lookup.queuesOf(nodename, this.now()),
      consumersOf: (queue) => lookup.consumersOf(queue, this.now()),
    };
  }

  /** Numbers for the bridge’s own metrics. */
  reading(): ServiceReading {
    const ageMs = this.#cluster.answers.reportAgeMs?.();
    return {
      service: this.name,
      connected: this.connected(),
      reportAgeS: ageMs === undefined ? undefined : ageMs / 1000,
      instances: this.#instances?.count,
      tables: this.#cluster.tables(),
    };
  }

  /** Applies what follows from the passage of time. Run it one at a time. */
  async settle(): Promise<void> {
    await this.#run(this.#cluster.settle(() => this.now()));
  }

  /** Applies all events that are held for ordering: no more are expected. */
  async applyHeld(): Promise<void> {
    await this.#run(this.#cluster.drain());
    this.#cluster.flush();
  }

  /** Reports missing events and what log records left out. Call it every few seconds. */
  look(): void {
    this.#telemetry?.look(this.#listener.now());
    this.#look(this.#listener.listenedMs());
  }

  /** Ends the session with the broker; another one follows. */
  reconnect(reason: string): void {
    this.#listener.reconnect(reason);
  }

  /** Stops listening, and applies the held events; the counts can still be exported. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.done;
    await this.applyHeld();
    this.#activity?.end();
    if (!this.#isObserver) this.#telemetry?.end(this.#listener.now());
  }

  /** Detaches the instruments from the meter, after the last export. */
  close(): void {
    this.#recorder?.close();
  }

  /** Makes a recorder: each collection settles the cluster first, and all callbacks of it read that view. */
  #record({ meter, choice, beforeCollect }: MetricsSink): Recorder {
    let settled: ClusterView | undefined;
    beforeCollect?.(async () => {
      settled = undefined;
      settled = await this.view();
    });
    const view = () => settled ?? this.view();
    return createRecorder(meter, view, choice, () => createPace(this.#options.yieldToLoop));
  }

  #listen(onReady: () => void): Listener {
    const { name, broker, report, random, signal, transports, during } = this.#options;
    const gaps = gapsOf(() => {
      this.#cluster.gap();
      this.#missing.gap();
    });
    const poll = this.#poller();
    return openListener({
      ...{ name, broker, report, random, transports, isObserver: this.#isObserver, isExported: true },
      signal: AbortSignal.any([this.#stopping.signal, ...(signal === undefined ? [] : [signal])]),
      deliver: this.#messageHandler(),
      ready() {
        gaps.ready();
        onReady();
      },
      missed: gaps.missed,
      between: () => this.#run(this.#cluster.drain()),
      during: (session) => {
        during?.(session);
        const ends = [poll?.(session), this.#instances?.during(session)];
        return () => {
          for (const end of ends) end?.();
        };
      },
    });
  }

  #poller(): ReturnType<typeof servicePoller> | undefined {
    const { name, report, random, yieldToLoop, polling, evidence } = this.#options;
    const answers = evidence?.answers?.(this.#cluster.answers) ?? this.#cluster.answers;
    const own = { name, report, random, yieldToLoop };
    return polling && servicePoller({ ...own, ...polling }, { answers }, () => this.now());
  }

  #messageHandler(): Deliver {
    const { name: service, report, metrics, evidence } = this.#options;
    return messageHandler({
      ...{ service, report, cluster: this.#cluster, eventRates: this.#eventRates, missing: this.#missing },
      ...{ countEvent: metrics?.countEvent, admit: evidence?.admit },
      wants: this.#telemetry?.wants ?? evidence?.wants,
    });
  }

  /** Passes each observation on; those about the measurement itself are reported, too. */
  #observe(observation: Observation): void {
    this.#recorder?.record(observation);
    this.#telemetry?.observe(observation, this.#listener.now());
    this.#activity?.observe(observation, this.#listener.now());
    if (!this.#isObserver) reportObservation(this.#options, observation);
  }

  #run<Result>(steps: Steps<Result>): Promise<Result> {
    return runCooperatively(this.#options.yieldToLoop, steps);
  }
}

/** Reports the start, and a warning where a reply that cannot be encoded stops a worker (`broker/control/commands.ts`). */
function announce({ name: service, broker, polling, report }: ServiceOptions): void {
  report({ kind: 'service-started', service, brokers: broker.urls.map((url) => url.label) });
  const asked = polling === undefined ? [] : commandsOf(polling.control);
  const commands = RISKY_COMMANDS.filter((command) => asked.includes(command));
  const canStop = kindsOf(broker.urls).some(({ failedReplyStopsWorker }) => failedReplyStopsWorker);
  if (canStop && commands.length > 0) report({ kind: 'workers-endangered', service, commands });
}

/** A secret number of 32 bits. */
function seedOf({ random }: ServiceOptions): number {
  return Math.floor(random() * 2 ** 32);
}

/** Reports observations about the measurement itself. */
function reportObservation({ name, report }: ServiceOptions, observation: Observation): void {
  if (observation.kind === 'clock-skewed') report({ ...observation, service: name });
  if (observation.kind !== 'loss-refuted') return;
  const { task, worker } = observation.run;
  report({ kind: 'loss-refuted', service: name, task, worker });
}

/** Runs `begin`; if that throws, detaches the recorder from the meter, which the program may use further. */
function beginOrDetach<Begun>(recorder: Recorder | undefined, begin: () => Begun): Begun {
  try {
    return begin();
  } catch (error) {
    recorder?.close();
    throw error;
  }
}
