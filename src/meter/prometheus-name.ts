/**
 * The names of metrics in Prometheus, by the rules of the Collector’s Prometheus exporter: dots become `_`, and suffixes for
 * unit and type are added. It does not know the user’s views, which may rename a metric.
 */
import type { InstrumentRow } from './catalog.ts';

/** Units in braces are annotations, so they are left out. */
const UNITS: Readonly<Record<string, string>> = { s: '_seconds', By: '_bytes' };

/** The name of an attribute, or that of a metric without its suffixes. */
export function prometheusLabel(key: string): string {
  return key.replaceAll('.', '_');
}

/** The name of a metric; of a histogram, without `_bucket`, `_sum` and `_count`. */
export function prometheusName(
  metric: string,
  { instrument, unit }: Pick<InstrumentRow, 'instrument' | 'unit'>,
): string {
  return `${prometheusLabel(metric)}${UNITS[unit] ?? ''}${instrument === 'counter' ? '_total' : ''}`;
}
