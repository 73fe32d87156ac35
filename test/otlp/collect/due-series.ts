/** Series that are due at a collection. */
import { MONOTONIC_SUM } from '../../../src/otlp/aggregate/sum.ts';
import { type Due, type Series, SeriesTable } from '../../../src/otlp/collect/series-table.ts';

export const dueOf = (series: Series<number>): Due<number> => ({
  series,
  isZero: false,
  value: () => series.accumulation.value(),
  keep: () => {},
});

/** So many, measured in no order, and no two at one time: at 0, 1, 2 … ms. The count and 7919 have no divisor in common. */
export function dueInDisorder(count: number): readonly Due<number>[] {
  let nowMs = 0;
  const table = new SeriesTable({
    ...{ limit: count + 1, keeps: undefined, begin: () => MONOTONIC_SUM.begin() },
    start: () => ({ wallMs: nowMs, steadyMs: nowMs, isFixed: false }),
  });
  for (let index = 0; index < count; index += 1) {
    nowMs = (index * 7919) % count;
    table.of(Object.freeze({ index }));
  }
  return Array.from(table.all(), (series) => dueOf(series));
}
