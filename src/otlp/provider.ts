/**
 * One MeterProvider for one resource: its meters, and the requests made of what they collect. It does not know what is
 * measured, and sends nothing.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { MeterProvider as ApiMeterProvider } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import { DataPointType, MeterProvider, type MetricData, MetricReader } from '@opentelemetry/sdk-metrics';
import type { CollectedMetric, Overflow, SeriesTally } from './collect/collected-metric.ts';
import type { GaugeCombination } from './collect/gauge-stream.ts';
import { createInstrumentStreams } from './collect/instrument-streams.ts';
import { attributesBytes, pointBytes } from './collect/point-bytes.ts';
import type { CollectedScope } from './collect/scope-streams.ts';
import type { StreamMeter } from './collect/stream-meter.ts';
import { temporalityOf } from './collect/temporality.ts';
import { type ExportRequest, exportRequests } from './export/export-request.ts';
import type { ExportSource } from './export/export-source.ts';
import type { StreamSettings } from './otlp-settings.ts';

export interface Provider extends ExportSource, ApiMeterProvider {
  getMeter(...scope: Parameters<ApiMeterProvider['getMeter']>): StreamMeter;
  /**
   * Ends the series of counters and histograms whose attribute `key` has one of the values. They are exported until their
   * last value has arrived, and then no more, unless they are recorded again.
   */
  retire(key: string, values: ReadonlySet<string>): void;
  tally(): SeriesTally;
}

export interface ProviderOptions {
  /** For events and logs. */
  readonly name: string;
  readonly resource: Resource;
  readonly settings: StreamSettings;
  readonly pointsPerRequestMax?: number | undefined;
  /** How gauges of an instrument are combined, by its name. By default the last value counts. */
  readonly combination?: (instrument: string) => GaugeCombination;
  /** A series idle for this long gives way to a new one if the limit is reached. By default none does. */
  readonly retentionMs?: number | undefined;
  /** An observable callback threw. */
  readonly onFailure: (reason: unknown) => void;
  /** Called at the next collection. */
  readonly onOverflow?: (overflow: Overflow) => void;
  readonly nowMs?: () => number;
  /** A monotonic clock. */
  readonly steadyMs?: () => number;
  /** Awaited before each long piece of work. By default it yields the event loop. */
  readonly yieldToLoop?: () => Promise<void>;
}

export function createProvider(options: ProviderOptions): Provider {
  const {
    name,
    resource,
    settings,
    combination = () => 'last',
    nowMs = () => Date.now(),
    yieldToLoop = nextTurn,
  } = options;
  const streams = createInstrumentStreams({
    settings,
    combination,
    onFailure: options.onFailure,
    onOverflow: options.onOverflow,
    retentionMs: options.retentionMs,
    nowMs,
    steadyMs: options.steadyMs,
    yieldToLoop,
  });
  const reader = new SdkReader({
    aggregationTemporalitySelector: (instrument) => temporalityOf(instrument, settings.temporality),
  });
  const sdk = new MeterProvider({ resource, readers: [reader] });
  return {
    name,
    getMeter: (scope, version, meterOptions): StreamMeter =>
      streams.meter(sdk.getMeter(scope, version, meterOptions), {
        name: scope,
        ...(version === undefined ? {} : { version }),
        ...(meterOptions?.schemaUrl === undefined ? {} : { schemaUrl: meterOptions.schemaUrl }),
      }),
    retire: streams.retire,
    tally: streams.tally,
    async collect(): Promise<readonly ExportRequest[]> {
      await yieldToLoop();
      const scopes = [...(await streams.collect()), ...(await reader.scopes(options.onFailure))];
      return exportRequests(resource, scopes, options.pointsPerRequestMax);
    },
  };
}

/** Collects, on request, the instruments that are left to the SDK. */
class SdkReader extends MetricReader {
  async scopes(onFailure: (reason: unknown) => void): Promise<readonly CollectedScope[]> {
    const { resourceMetrics, errors } = await this.collect();
    for (const error of errors) onFailure(error);
    return resourceMetrics.scopeMetrics.map(({ scope, metrics }) => ({ scope, metrics: metrics.map(ofSdk) }));
  }

  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

function ofSdk(metric: MetricData): CollectedMetric {
  return {
    points: metric.dataPoints.length,
    // The SDK’s instruments have only numbers as values.
    bytesOf: (point) => pointBytes(attributesBytes(metric.dataPoints[point]?.attributes ?? {}), 0),
    slice: (from, to) => sliceOf(metric, from, to),
    // The SDK does not keep what did not arrive.
    exported: () => {},
  };
}

function sliceOf(metric: MetricData, from: number, to: number): MetricData {
  switch (metric.dataPointType) {
    case DataPointType.SUM:
      return { ...metric, dataPoints: metric.dataPoints.slice(from, to) };
    case DataPointType.GAUGE:
      return { ...metric, dataPoints: metric.dataPoints.slice(from, to) };
    case DataPointType.HISTOGRAM:
      return { ...metric, dataPoints: metric.dataPoints.slice(from, to) };
    case DataPointType.EXPONENTIAL_HISTOGRAM:
      return { ...metric, dataPoints: metric.dataPoints.slice(from, to) };
  }
}
