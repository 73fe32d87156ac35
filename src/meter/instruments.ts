/**
 * Makes instruments out of rows: what a row of the catalog says is what the instrument is. It knows the OpenTelemetry
 * API only, so that whatever SDK a process has can stand behind it.
 */
import type { Histogram, Meter, ObservableGauge } from '@opentelemetry/api';
import type { MetricRow } from './catalog.ts';
import { type CoalescingCounter, createCoalescingCounter } from './coalescing-counter.ts';

export function makeCounter(meter: Meter, name: string, row: MetricRow): CoalescingCounter {
  const counter = meter.createCounter(name, { unit: row.unit, description: row.description });
  return createCoalescingCounter(counter, row.attributes);
}

/** The row's buckets travel with the instrument as advice, so that no view has to know the catalog. */
export function makeHistogram(meter: Meter, name: string, row: MetricRow): Histogram {
  return meter.createHistogram(name, {
    unit: row.unit,
    description: row.description,
    ...(row.buckets === undefined ? {} : { advice: { explicitBucketBoundaries: [...row.buckets] } }),
  });
}

export function makeGauge(meter: Meter, name: string, row: MetricRow): ObservableGauge {
  return meter.createObservableGauge(name, { unit: row.unit, description: row.description });
}
