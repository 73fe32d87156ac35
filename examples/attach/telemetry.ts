/**
 * The OpenTelemetry of the application, as it would be without Celery: its resource, its reader, its exporter; and what
 * its owner wants of the metrics that celery-otel records in it. It does not know that there is a bridge.
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
    // The SDK frees no series, so workers that come and go must not make any. For gauges this is no way: without its worker
    // such a point is that of whichever worker came last.
    attributesProcessors: [createDenyListAttributesProcessor(['celery.worker.name'])],
    aggregationCardinalityLimit: 500,
  },
  {
    meterName: CELERY_SCOPE,
    instrumentName: 'celery.worker.*',
    // Of all workers that there will ever be in this process: the SDK never gives the place of one that is gone to another.
    aggregationCardinalityLimit: 10_000,
  },
];

/**
 * Asks for gauges as differences, and for everything else as it is asked for anyway. A gauge has no temporality on the wire,
 * but asked for totals the SDK exports the last value of a worker that is gone for as long as the process lives.
 */
export class CurrentGaugesExporter extends OTLPMetricExporter {
  override selectAggregationTemporality(instrument: InstrumentType): AggregationTemporality {
    return instrument === InstrumentType.OBSERVABLE_GAUGE
      ? AggregationTemporality.DELTA
      : super.selectAggregationTemporality(instrument);
  }
}

/**
 * Not started. The exporter reads `OTEL_EXPORTER_OTLP_ENDPOINT` and its like by itself; metrics are all that this
 * application has.
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
