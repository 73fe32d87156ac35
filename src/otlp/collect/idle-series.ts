/** Chooses the series that have been idle longest, to make room for new ones. It does not end them. Pure. */
import type { Due, Series } from './series-table.ts';

/**
 * @param count maximum number of series to choose
 * @param beforeMs series that were measured later than this are not idle
 */
export function idlest<V>(due: readonly Due<V>[], count: number, beforeMs: number): readonly Series<V>[] {
  if (count <= 0) return [];
  const isIdle = ({ isOverflow, endsAfterExport, measuredMs }: Series<V>): boolean =>
    measuredMs <= beforeMs && !isOverflow && !endsAfterExport;
  // There may be a hundred thousand series: sorting a typed array is fast and needs little memory.
  const times = new Float64Array(due.length);
  let idle = 0;
  for (const { series } of due) {
    if (isIdle(series)) times[idle++] = series.measuredMs;
  }
  const lastMs = times.subarray(0, idle).sort()[Math.min(count, idle) - 1];
  if (lastMs === undefined) return [];
  const found: Series<V>[] = [];
  const equallyIdle: Series<V>[] = [];
  for (const { series } of due) {
    if (series.measuredMs > lastMs || !isIdle(series)) continue;
    (series.measuredMs === lastMs ? equallyIdle : found).push(series);
  }
  return [...found, ...equallyIdle.slice(0, count - found.length)];
}
