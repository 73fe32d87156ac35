/**
 * The bridge as a whole: its Celery services, each with a resource of its own, and the metrics about itself. The
 * command line and programs that embed the bridge make the same calls.
 */
import { diag } from '@opentelemetry/api';
import { untraced } from '../otlp/untraced.ts';
import { createSelfDiag } from '../self/self-diag.ts';
import type { EventSink } from '../self/self-event.ts';
import type { ServiceActivity } from '../service/activity/activity.ts';
import type { ServiceLookup } from '../service/activity/service-lookup.ts';
import { openService, type Service } from '../service/service.ts';
import type { ServiceState } from '../service/service-state.ts';
import { CeleryOtelError, reasonOf } from '../text/errors.ts';
import { createYieldToLoop } from '../timing/cooperative.ts';
import { checkOptions } from './bridge-check.ts';
import type { BridgeOptions, StopReport } from './bridge-options.ts';
import { createDestinations, type Destinations, SELF_NAME, type SeriesState } from './destinations.ts';
import { startPeriodicChecks } from './periodic-checks.ts';

export interface ReadyReport {
  /**
   * `ready`: every service has connected or replayed its recording; `stopped`: the bridge or a service ended before
   * that.
   */
  readonly kind: 'ready' | 'stopped';
  readonly services: readonly ServiceState[];
}

export interface BridgeActivity extends ServiceActivity {
  /** The series of its metrics; undefined if the bridge does not export them itself. */
  readonly series: SeriesState | undefined;
}

export interface Bridge {
  /**
   * Starts listening and exporting. An unreachable broker is retried.
   * @throws CeleryOtelError ALREADY_STARTED; START_FAILED or a more specific code if a service or the export could not be
   * started. Everything that was started is then stopped; stop() resolves when that is done.
   */
  start(): void;
  /** Resolves once all services have connected, or the bridge or a service has stopped before. */
  readonly ready: Promise<ReadyReport>;
  /** Resolves on stop, or when every recording has ended or is unusable. A broker never ends. */
  readonly finished: Promise<'stopped' | 'finished' | 'unusable'>;
  /** The states of all services, in the order of the options. */
  state(): readonly ServiceState[];
  /** What workers, queues and tasks of a service do; undefined if there is no such service, or no activity is kept. */
  activity(service: string): Promise<BridgeActivity | undefined>;
  /** Looks up single tasks, queues, workers and runs; undefined if there is no such service, or no activity is kept. */
  lookup(service: string): ServiceLookup | undefined;
  /**
   * Call it for an uncaught exception in this process, which counts as an internal error. After an exception from the
   * broker connections (`transport`), all of them are ended and opened again, because the exception does not show which
   * one is affected.
   * @param reason must not contain secrets
   */
  noteUncaught(where: 'transport' | 'process', reason: string): void;
  /** Stops listening, exports once more and closes. May be called before start(), and repeatedly. */
  stop(deadlineMs: number): Promise<StopReport>;
}

/**
 * @throws CeleryOtelError CONFIG_INVALID if services are not distinguishable, metrics have no destination, or a number
 * is out of range; the message lists all mistakes
 */
export function createBridge(options: BridgeOptions): Bridge {
  checkOptions(options);
  let running: Running | undefined;
  let stopped: Promise<StopReport> | undefined;
  const finished = Promise.withResolvers<Awaited<Bridge['finished']>>();
  const ready = Promise.withResolvers<ReadyReport>();
  return {
    start() {
      if (running !== undefined || stopped !== undefined) {
        throw new CeleryOtelError('ALREADY_STARTED', 'This bridge was already started.');
      }
      const started = untraced(() => startAll(options));
      if (started.kind === 'failed') {
        stopped = started.stopped;
        finished.resolve('stopped');
        ready.resolve({ kind: 'stopped', services: [] });
        throw startFailure(started.error);
      }
      running = started;
      void running.finished.then(finished.resolve);
      void running.ready.then(ready.resolve);
    },
    ready: ready.promise,
    finished: finished.promise,
    state: () => running?.state() ?? [],
    activity: async (service) => running?.activity(service),
    lookup: (service) => running?.lookup(service),
    noteUncaught: (where, reason) => running?.noteUncaught(where, reason),
    stop(deadlineMs) {
      stopped ??= untraced(() => running?.stop(deadlineMs) ?? Promise.resolve(NOTHING_RAN));
      if (running === undefined) {
        finished.resolve('stopped');
        ready.resolve({ kind: 'stopped', services: [] });
      }
      return stopped;
    },
  };
}

const AFTER_DEFECT = 'connecting again after an internal error in the connection to a broker';

/** All brokers are reconnected at most this often, so that one faulty connection does not keep ending the others. */
const RECONNECT_INTERVAL_MS = 30_000;

const NOTHING_RAN: StopReport = { flushed: true, services: [] };

type Running = Pick<
  Bridge,
  'ready' | 'finished' | 'state' | 'activity' | 'lookup' | 'noteUncaught' | 'stop'
> & {
  readonly kind: 'running';
};

function startAll(options: BridgeOptions) {
  const { random = Math.random } = options;
  const onEvent = guarded(options.report ?? createSelfDiag());
  const services: Service[] = [];
  let destinations: Destinations | undefined;
  try {
    // Services collect and export concurrently, but take turns on the event loop.
    const yieldToLoop = createYieldToLoop();
    destinations = createDestinations(options, { onEvent, random, yieldToLoop });
    const { report, self } = destinations;
    for (const config of options.services) {
      const { name, broker, cluster, choice, staleAfter } = config;
      const destination = destinations.destinationOf(config);
      services.push(
        openService({
          ...{ name, broker, cluster, report, random, yieldToLoop, staleAfter },
          polling: config,
          metrics: { ...destination, choice, countEvent: self.eventsOf(name) },
          reports: destinations.reportsOf(config),
          ...{ activity: options.activity === true, runsMax: options.rememberedRuns ?? 0 },
          ...(options.exceptions && { exceptions: options.exceptions }),
        }),
      );
    }
    destinations.start(() => services.map((service) => service.reading()));
    return runningOf(options, services, destinations, onEvent);
  } catch (error) {
    return { kind: 'failed', error, stopped: abandon(services, destinations, onEvent) } as const;
  }
}

function runningOf(
  options: BridgeOptions,
  services: readonly Service[],
  destinations: Destinations,
  onEvent: EventSink,
): Running {
  const endPeriodicChecks = startPeriodicChecks({ services, self: SELF_NAME, report: destinations.report });
  const serviceOf = (name: string): Service | undefined => services.find((service) => service.name === name);
  const state = (): readonly ServiceState[] => services.map((service) => service.state());
  const finished = Promise.all(services.map(({ done }) => done)).then(endOf);
  const allReady = Promise.all(services.map(({ ready }) => ready));
  let reconnecting: NodeJS.Timeout | undefined;
  let reconnectedMs = Number.NEGATIVE_INFINITY;
  return {
    kind: 'running',
    state,
    finished,
    async activity(name) {
      const activity = await serviceOf(name)?.activity();
      return activity && { ...activity, series: destinations.seriesOf(name) };
    },
    lookup: (name) => serviceOf(name)?.lookup(),
    ready: allReady.then((each) => ({
      kind: each.every((isReady) => isReady) ? 'ready' : 'stopped',
      services: state(),
    })),
    noteUncaught(where, reason) {
      destinations.report({ kind: 'defect', service: SELF_NAME, where, reason });
      if (where !== 'transport' || reconnecting !== undefined) return;
      const waitMs = Math.max(0, reconnectedMs + RECONNECT_INTERVAL_MS - performance.now());
      reconnecting = setTimeout(() => {
        reconnecting = undefined;
        reconnectedMs = performance.now();
        for (const service of services) service.reconnect(AFTER_DEFECT);
      }, waitMs);
    },
    async stop(deadlineMs) {
      for (const { name } of options.services) onEvent({ kind: 'service-stopping', service: name });
      endPeriodicChecks();
      clearTimeout(reconnecting);
      const endMs = performance.now() + deadlineMs;
      await Promise.all(services.map((service) => service.stop()));
      const stopped = await destinations.close(Math.max(0, endMs - performance.now()));
      for (const service of services) service.close();
      for (const { name, metrics } of stopped.services) {
        onEvent({ kind: 'service-stopped', service: name, metrics });
      }
      return stopped;
    },
  };
}

/** Stops and closes the started parts of a bridge that failed to start. Never rejects, since nobody may await it. */
async function abandon(
  services: readonly Service[],
  destinations: Destinations | undefined,
  onEvent: EventSink,
): Promise<StopReport> {
  try {
    await Promise.all(services.map((service) => service.stop()));
    for (const service of services) service.close();
    await destinations?.abandon();
  } catch (error) {
    onEvent({ kind: 'defect', service: SELF_NAME, where: 'stop', reason: reasonOf(error) });
  }
  return NOTHING_RAN;
}

function startFailure(cause: unknown): CeleryOtelError {
  if (cause instanceof CeleryOtelError) return cause;
  return new CeleryOtelError('START_FAILED', `The bridge could not be started: ${reasonOf(cause)}`, {
    cause,
  });
}

/** Protects the bridge from a `report` that throws. */
function guarded(report: EventSink): EventSink {
  return (event) => {
    try {
      report(event);
    } catch (error) {
      diag.error(`celery-otel: report threw on ${event.kind}`, error);
    }
  };
}

type End = Awaited<Service['done']>;

/** The worst end among all services. */
function endOf(ends: readonly End[]): End {
  return (['unusable', 'stopped', 'finished'] as const).find((end) => ends.includes(end)) ?? 'finished';
}
