/**
 * The application’s OpenTelemetry SDK, as it would be without Celery: resource, exporters, processors of spans and log
 * records; and views for the metrics of celery-otel. It does not know the bridge.
 */
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-grpc';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-grpc';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-grpc';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import { BatchLogRecordProcessor } from '@opentelemetry/sdk-logs';
import {
  AggregationTemporality,
  createDenyListAttributesProcessor,
  InstrumentType,
  PeriodicExportingMetricReader,
  type ViewOptions,
} from '@opentelemetry/sdk-metrics';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace';

export const APPLICATION = 'back-office';

/** The instrumentation scope of everything that the bridge records. */
const CELERY_SCOPE = 'celery-otel';

export const VIEWS: ViewOptions[] = [
  {
    meterName: CELERY_SCOPE,
    instrumentName: 'celery.task.*',
    // The SDK never frees a series, so no series may depend on workers that come and go. Gauges must keep the attribute:
    // without it, the last worker’s value would overwrite all others.
    attributesProcessors: [createDenyListAttributesProcessor(['celery.worker.name'])],
    aggregationCardinalityLimit: 500,
  },
  {
    meterName: CELERY_SCOPE,
    instrumentName: 'celery.worker.*',
    // All workers in the lifetime of the process: the SDK never reuses the series of one that is gone.
    aggregationCardinalityLimit: 10_000,
  },
];

/**
 * Selects delta temporality for gauges. A gauge has no temporality on the wire; but with cumulative temporality the SDK
 * exports the last value of a worker that is gone for as long as the process lives.
 */
export class CurrentGaugesExporter extends OTLPMetricExporter {
  override selectAggregationTemporality(instrument: InstrumentType): AggregationTemporality {
    return instrument === InstrumentType.OBSERVABLE_GAUGE
      ? AggregationTemporality.DELTA
      : super.selectAggregationTemporality(instrument);
  }
}

export interface Telemetry {
  readonly sdk: NodeSDK;
  /** Takes the application’s spans, and those of Celery. */
  readonly spanProcessor: BatchSpanProcessor;
}

/**
 * Not started yet. The exporters read `OTEL_EXPORTER_OTLP_ENDPOINT` and similar variables themselves.
 * @param intervalMs between two exports, of each signal
 */
export function createTelemetry(intervalMs: number): Telemetry {
  const scheduledDelayMillis = intervalMs;
  const spanProcessor = new BatchSpanProcessor({
    exporter: new OTLPTraceExporter(),
    scheduledDelayMillis,
    // The default of 2048 is a burst of 1000 tasks.
    maxQueueSize: 8192,
  });
  const sdk = new NodeSDK({
    resource: defaultResource().merge(resourceFromAttributes({ 'service.name': APPLICATION })),
    metricReaders: [
      new PeriodicExportingMetricReader({
        exporter: new CurrentGaugesExporter(),
        exportIntervalMillis: intervalMs,
      }),
    ],
    views: VIEWS,
    spanProcessors: [spanProcessor],
    logRecordProcessors: [
      new BatchLogRecordProcessor({ exporter: new OTLPLogExporter(), scheduledDelayMillis }),
    ],
  });
  return { sdk, spanProcessor };
}
