/**
 * What Prometheus calls a metric of the catalog, by the rule of the Collector’s Prometheus exporter: dots become `_`, and the
 * unit and the kind come at the end. It knows nothing of views, which may rename a metric.
 */
import type { InstrumentRow } from './catalog.ts';

/** Units in braces are annotations, so they are left out. */
const UNITS: Readonly<Record<string, string>> = { s: '_seconds', By: '_bytes' };

/** Of a metric or an attribute, without what is added to metrics. */
export function prometheusLabel(key: string): string {
  return key.replaceAll('.', '_');
}

/** Of a histogram, without `_bucket`, `_sum` and `_count`. */
export function prometheusName(
  metric: string,
  { instrument, unit }: Pick<InstrumentRow, 'instrument' | 'unit'>,
): string {
  return `${prometheusLabel(metric)}${UNITS[unit] ?? ''}${instrument === 'counter' ? '_total' : ''}`;
}
