/**
 * Decorates an exporter: says how each export ended, chooses the temporality of each kind of instrument, and puts what
 * has the same scope together. It changes no metric.
 */
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import {
  AggregationTemporality,
  InstrumentType,
  type PushMetricExporter,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics';
import { mergeScopes } from './merge-scopes.ts';
import type { OtlpSettings } from './otlp-settings.ts';

export interface ExportOutcome {
  readonly outcome: 'success' | 'failure';
  readonly durationMs: number;
  /** '' for a success. */
  readonly reason: string;
}

export function observeExporter(
  inner: PushMetricExporter,
  temporality: OtlpSettings['temporality'],
  onExport: (outcome: ExportOutcome) => void,
): PushMetricExporter {
  return {
    export(metrics: ResourceMetrics, done: (result: ExportResult) => void) {
      const startedMs = performance.now();
      inner.export(mergeScopes(metrics), (result) => {
        const failed = result.code !== ExportResultCode.SUCCESS;
        onExport({
          outcome: failed ? 'failure' : 'success',
          durationMs: performance.now() - startedMs,
          reason: failed ? (result.error?.message ?? 'no reason given') : '',
        });
        done(result);
      });
    },
    selectAggregationTemporality: (instrument) => temporalityOf(instrument, temporality),
    forceFlush: () => inner.forceFlush(),
    shutdown: () => inner.shutdown(),
  };
}

/**
 * OTLP's three preferences, but for gauges: they have no temporality on the wire, and asked for deltas the SDK leaves
 * out those that are gone, where under cumulative it exports their last value for ever (opentelemetry-js #4096).
 */
export function temporalityOf(
  instrument: InstrumentType,
  preference: OtlpSettings['temporality'],
): AggregationTemporality {
  switch (instrument) {
    case InstrumentType.GAUGE:
    case InstrumentType.OBSERVABLE_GAUGE:
      return AggregationTemporality.DELTA;
    case InstrumentType.COUNTER:
    case InstrumentType.HISTOGRAM:
      return preference === 'cumulative' ? AggregationTemporality.CUMULATIVE : AggregationTemporality.DELTA;
    case InstrumentType.OBSERVABLE_COUNTER:
      return preference === 'delta' ? AggregationTemporality.DELTA : AggregationTemporality.CUMULATIVE;
    case InstrumentType.UP_DOWN_COUNTER:
    case InstrumentType.OBSERVABLE_UP_DOWN_COUNTER:
      return AggregationTemporality.CUMULATIVE;
  }
}
