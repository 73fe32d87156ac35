/**
 * The application’s OpenTelemetry SDK, as it would be without Celery: resource, reader and exporter; and views for the
 * metrics of celery-otel. It does not know the bridge.
 */
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-grpc';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  createDenyListAttributesProcessor,
  InstrumentType,
  PeriodicExportingMetricReader,
  type ViewOptions,
} from '@opentelemetry/sdk-metrics';
import { NodeSDK } from '@opentelemetry/sdk-node';

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

/**
 * Not started yet. The exporter reads `OTEL_EXPORTER_OTLP_ENDPOINT` and similar variables itself. The application has
 * metrics only.
 * @param intervalMs between two exports
 */
export function createTelemetry(intervalMs: number): NodeSDK {
  return new NodeSDK({
    resource: defaultResource().merge(resourceFromAttributes({ 'service.name': APPLICATION })),
    metricReaders: [
      new PeriodicExportingMetricReader({
        exporter: new CurrentGaugesExporter(),
        exportIntervalMillis: intervalMs,
      }),
    ],
    views: VIEWS,
    spanProcessors: [],
    logRecordProcessors: [],
  });
}
