/**
 * Opens the destinations of the metrics of each service and of the bridge itself: a MeterProvider of our own, which is
 * exported, or one that the embedding program attached. It knows no brokers and starts no service.
 */
import type { MeterProvider } from '@opentelemetry/api';
import { combinationOf, METER_NAME } from '../meter/catalog.ts';
import { guardedProvider } from '../meter/guarded-provider.ts';
import type { SelfReadings, ServiceReading } from '../meter/self-readings.ts';
import { createSelfRecorder, type SelfRecorder } from '../meter/self-recorder.ts';
import type { EndedExport } from '../otlp/backend.ts';
import type { Fullness } from '../otlp/collect/instrument-streams.ts';
import { createPipeline, type OpenOptions, type Pipeline } from '../otlp/pipeline.ts';
import type { Provider } from '../otlp/provider.ts';
import { type ResourceAttributes, serviceResource } from '../otlp/resource.ts';
import { type ProcessWatch, watchProcess } from '../self/process-readings.ts';
import type { DefectPlace, EventSink, SelfEvent } from '../self/self-event.ts';
import { VERSION } from '../self/version.ts';
import { reasonOf } from '../text/errors.ts';
import type { YieldToLoop } from '../timing/cooperative.ts';
import type { BridgeOptions, BridgeService, ServiceStop, StopReport } from './bridge-options.ts';
import { createTelemetryDestinations } from './telemetry-destinations.ts';

export type Destinations = ReturnType<typeof createDestinations>;

/** `service.name` of the bridge's own metrics. */
export const SELF_NAME = 'celery-otel';

export interface SeriesState {
  /** How many series the last collection had. */
  readonly live: number;
  /** How many measurements went to an overflow series since the start. */
  readonly overflowed: number;
  /** The metric that is closest to its limit of series; undefined before the first measurement. */
  readonly fullest: Fullness | undefined;
}

/** The share of the stopping time for metrics, which go first, if spans or log records are sent, too. */
const METRICS_SHARE = 0.75;
/** How many series one of the bridge’s own metrics may have per service; more than it needs. */
const SELF_SERIES_PER_SERVICE = 50;

export interface DestinationsContext {
  /** Receives every self event after it was recorded in the bridge’s own metrics. */
  readonly onEvent: EventSink;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
  /** Awaited before each long piece of work. */
  readonly yieldToLoop: YieldToLoop;
}

/** @param watch starts watching the process; not called if the bridge’s own metrics are off */
export function createDestinations(
  options: BridgeOptions,
  context: DestinationsContext,
  watch: () => ProcessWatch = watchProcess,
) {
  const { onEvent } = context;
  const providers = new Map<string, Provider>();
  let readServices: () => readonly ServiceReading[] = () => [];
  /** Records each self event in the bridge’s own metrics, then passes it on. */
  const report: EventSink = (event) => {
    self.record(event);
    onEvent(event);
  };
  const pipeline = openPipeline(options, { ...context, onEvent: report });
  const readings = () => ({
    services: readServices(),
    series: [...providers].map(([service, provider]) => ({ service, ...provider.tally() })),
  });
  const self = options.self.enabled ? openSelf(options, pipeline, onEvent, watch, readings) : NO_SELF;
  const reports = createTelemetryDestinations(options, { ...context, report, self: SELF_NAME });
  if (self.recordedIn !== undefined) reports.observe(self.recordedIn);

  return {
    report,
    self,
    /** The receivers of the spans and log records of one service. */
    reportsOf: reports.reportsOf,
    /**
     * The destination of the metrics of one service; `retire` ends the series of workers, unless the provider is
     * attached.
     */
    destinationOf({ name, attributes, cluster, meterProvider }: BridgeService) {
      if (meterProvider !== undefined) {
        const meter = attached(meterProvider, name, report).getMeter(METER_NAME, VERSION);
        return { meter, retire: () => {} };
      }
      const provider = open(pipeline, name, attributes, { retentionMs: cluster.seriesRetentionMs });
      providers.set(name, provider);
      self.beginSeries(name);
      return destinationAt(provider);
    },
    /** The series of the metrics of one service; undefined if its provider is attached. */
    seriesOf(name: string): SeriesState | undefined {
      const provider = providers.get(name);
      return provider && { ...provider.tally(), fullest: provider.fullest() };
    },
    /**
     * Starts exporting; the first export is one interval from now.
     * @param read called at each collection of the bridge’s own metrics
     */
    start(read: typeof readServices): void {
      readServices = read;
      pipeline?.start();
      reports.start();
    },
    /** Exports once more and closes. */
    async close(deadlineMs: number): Promise<StopReport> {
      // The metrics of services come first: our own metrics also count their last exports.
      const groups = [[...providers.values()], self.exported].filter((group) => group.length > 0);
      const endMs = performance.now() + deadlineMs;
      const unsent =
        (await pipeline?.close(groups, reports.isUsed ? deadlineMs * METRICS_SHARE : deadlineMs)) ??
        new Set();
      self.close();
      await reports.close(Math.max(0, endMs - performance.now()));
      const services = options.services.map(({ name }): ServiceStop => {
        if (pipeline === undefined || !providers.has(name)) return { name, metrics: 'handed-over' };
        return { name, metrics: lastExport(name, pipeline, unsent.has(name)) };
      });
      return { flushed: unsent.size === 0, services };
    },
    /** Closes without an export, for a bridge that never started. */
    async abandon(): Promise<void> {
      await pipeline?.close([], 0);
      await reports.close(0);
      self.close();
    },
  };
}

function destinationAt({ beforeCollect, getMeter, retire }: Provider) {
  return {
    meter: getMeter(METER_NAME, VERSION),
    retire: (workers: readonly string[]): void => retire('celery.worker.name', workers),
    beforeCollect,
  };
}

function lastExport(name: string, exports: Pipeline, isUnsent: boolean): ServiceStop['metrics'] {
  const hasArrived = exports.hasArrived(name);
  const notSent = hasArrived ? 'unsent' : 'never-exported';
  if (isUnsent) return notSent;
  if (exports.hasRejectedItems(name)) return 'rejected';
  // Metrics that the backend refused are not retried, and so not among the unsent ones.
  if (exports.isFailing(name)) return notSent;
  return hasArrived ? 'flushed' : 'empty';
}

/** The destination of the bridge's own metrics. */
interface SelfDestination extends SelfRecorder {
  /** Empty if they are off, or the provider is attached. */
  readonly exported: readonly Provider[];
  /** Undefined if they are off. */
  readonly recordedIn: MeterProvider | undefined;
}

const NO_SELF: SelfDestination = {
  exported: [],
  recordedIn: undefined,
  record: () => {},
  eventsOf: () => () => {},
  beginSeries: () => {},
  close: () => {},
};

function openSelf(
  { self: { attributes, meterProvider }, services: observed }: BridgeOptions,
  pipeline: Pipeline | undefined,
  onEvent: EventSink,
  watch: () => ProcessWatch,
  read: () => Omit<SelfReadings, 'process'>,
): SelfDestination {
  const watched = watch();
  function selfProvider(): { readonly recordedIn: MeterProvider; readonly exported: readonly Provider[] } {
    // Failures of our own metrics are not counted in our own metrics.
    if (meterProvider !== undefined)
      return { recordedIn: attached(meterProvider, SELF_NAME, onEvent), exported: [] };
    const resource = {
      'service.instance.id': watched.instanceId,
      ...attributes,
      'service.version': VERSION,
    };
    const provider = open(pipeline, SELF_NAME, resource, selfLimits(observed));
    return { recordedIn: provider, exported: [provider] };
  }

  const { recordedIn, exported } = selfProvider();
  pipeline?.observe(recordedIn);
  const recorder = createSelfRecorder(recordedIn.getMeter(METER_NAME, VERSION), () => {
    const { services, series } = read();
    const own = exported.map((provider) => ({ service: SELF_NAME, ...provider.tally() }));
    return { process: watched.read(), services, series: [...series, ...own] };
  });
  if (exported.length > 0) recorder.beginSeries(SELF_NAME);
  return {
    ...recorder,
    exported,
    recordedIn,
    close() {
      recorder.close();
      watched.close();
    },
  };
}

/**
 * Enough series for all attribute values. Only pairs of hosts with clock skew can be more than the default, up to
 * `skew_pairs_max`.
 */
function selfLimits(services: readonly BridgeService[]): Omit<OpenOptions, 'combination'> {
  const limits = services.map(({ cluster }) => Math.max(SELF_SERIES_PER_SERVICE, cluster.skewPairsMax + 1));
  return {
    retentionMs: Math.max(0, ...services.map(({ cluster }) => cluster.seriesRetentionMs)),
    // One series for the overflow, and those about our own metrics.
    limitAtLeast: limits.reduce((sum, each) => sum + each, 1 + SELF_SERIES_PER_SERVICE),
  };
}

function attached(provider: MeterProvider, service: string, report: EventSink): MeterProvider {
  return guardedProvider(provider, (reason) => report(defect(service, 'attached_provider', reason)));
}

function defect(service: string, where: DefectPlace, reason: unknown): SelfEvent {
  return { kind: 'defect', service, where, reason: reasonOf(reason) };
}

/** Undefined if all providers are attached. */
function openPipeline(
  { otlp }: BridgeOptions,
  { onEvent, random, yieldToLoop }: DestinationsContext,
): Pipeline | undefined {
  if (otlp === undefined) return undefined;
  return createPipeline({
    settings: otlp,
    onExport: (service, ended) => {
      for (const event of exportEvents(service, ended, otlp.schedule.intervalMs)) onEvent(event);
    },
    onDefect: (service, reason) => onEvent(defect(service, 'export', reason)),
    onOverflow: (service, overflow) => onEvent({ kind: 'series-overflowed', service, ...overflow }),
    random,
    yieldToLoop,
  });
}

function exportEvents(service: string, ended: EndedExport, intervalMs: number): readonly SelfEvent[] {
  const { recovery, waitedMs, items: points, rejectedItems: rejectedPoints, ...finished } = ended;
  const { backend, durationMs, outcome } = finished;
  const isLate = outcome !== 'failure' && durationMs > intervalMs;
  return [
    { kind: 'export-finished', service, ...finished, points, rejectedPoints },
    ...(isLate ? [{ kind: 'export-late', service, durationMs, waitedMs, intervalMs } as const] : []),
    ...(recovery === undefined
      ? []
      : [{ kind: 'exports-recovered', service, backend, ...recovery } as const]),
  ];
}

function open(
  pipeline: Pipeline | undefined,
  name: string,
  attributes: ResourceAttributes,
  options: Omit<OpenOptions, 'combination'>,
): Provider {
  if (pipeline === undefined) throw new Error(`${name} has no destination, and passed the check`);
  return pipeline.open(name, serviceResource(name, attributes), { combination: combinationOf, ...options });
}
