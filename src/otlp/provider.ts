/**
 * One MeterProvider with its periodic export for one resource. It knows nothing of what is measured, and it never keeps
 * the process alive or holds up its end beyond the deadline it is given.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Meter } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { createGrpcExporter } from './grpc-exporter.ts';
import { type ExportOutcome, observeExporter, temporalityOf } from './observed-exporter.ts';
import type { OtlpSettings } from './otlp-settings.ts';
import { createStreamProducer } from './stream-producer.ts';

export interface Provider {
  meter(name: string, version: string): Meter;
  /**
   * Ends the series of counters and histograms whose attribute `key` has one of the values: what was counted is exported,
   * however many attempts that takes, and the exports after that are without them until they are counted anew.
   */
  retire(key: string, values: ReadonlySet<string>): void;
  /** Exports once more what there is and closes; false if that was not done, or failed, within the deadline. */
  shutdown(deadlineMs: number): Promise<boolean>;
}

export function createProvider(
  resource: Resource,
  settings: OtlpSettings,
  onExport: (outcome: ExportOutcome) => void,
): Provider {
  let lastOutcome: ExportOutcome['outcome'] | undefined;
  const exporter = observeExporter(createGrpcExporter(settings), settings.temporality, (outcome) => {
    lastOutcome = outcome.outcome;
    if (outcome.outcome === 'success') streams.exported();
    onExport(outcome);
  });
  const streams = createStreamProducer({
    selectTemporality: (instrument) => temporalityOf(instrument, settings.temporality),
  });
  const reader = new PeriodicExportingMetricReader({
    exporter,
    metricProducers: [streams],
    exportIntervalMillis: settings.exportIntervalMs,
    // The SDK refuses a timeout above the interval.
    exportTimeoutMillis: Math.min(settings.exportTimeoutMs, settings.exportIntervalMs),
  });
  const provider = new MeterProvider({ resource, readers: [reader] });
  return {
    meter: (name, version) => streams.meter(provider.getMeter(name, version), { name, version }),
    retire: streams.retire,
    async shutdown(deadlineMs) {
      const inTime = new AbortController();
      const closed = provider.shutdown().then(
        () => lastOutcome !== 'failure',
        // The reader has told the reason through the exporter; here only the answer matters.
        () => false,
      );
      const late = delay(deadlineMs, false, { signal: inTime.signal }).catch(() => false);
      const flushed = await Promise.race([closed, late]);
      inTime.abort();
      return flushed;
    },
  };
}
