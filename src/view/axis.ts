/** The arithmetic of plots: the values and times of axis labels, and the gaps in a line. Pure: it draws nothing. */
import { duration, number } from './numbers.ts';

/** Counts get whole numbers, rates any numbers, durations the steps of a clock. */
export type Unit = 'count' | 'rate' | 'seconds';

const STEPS_MAX = 4;
/** Below this, a highest value counts as none: it cannot be divided into steps. */
const VALUE_MIN = 1e-9;
const FACTORS = [1, 2, 5, 10] as const;
/** The steps of durations above some seconds, in seconds: tenths of a minute or hour are unusual. */
const CLOCK_STEPS = [
  ...[10, 15, 30, 60, 120, 300, 600, 900, 1800],
  ...[3600, 7200, 10_800, 21_600, 43_200, 86_400],
] as const;
const MINUTE_MS = 60_000;

/** @returns the labels from 0 to the first value that is not below `most`, at most five steps */
export function axisValues(most: number, unit: Unit): readonly number[] {
  const highest = Number.isFinite(most) && most > VALUE_MIN ? most : 1;
  const step = stepOf(highest, unit);
  const steps = Math.max(1, Math.ceil(highest / step));
  return Array.from({ length: steps + 1 }, (_, index) => index * step);
}

function stepOf(highest: number, unit: Unit): number {
  const enough = (step: number): boolean => highest / step <= STEPS_MAX;
  const clockStep = CLOCK_STEPS.find(enough);
  if (unit === 'seconds' && clockStep !== undefined && !enough(5)) return clockStep;
  const power = 10 ** Math.floor(Math.log10(highest / STEPS_MAX));
  const step = FACTORS.map((factor) => factor * power).find(enough) ?? 10 * power;
  return unit === 'count' ? Math.max(1, step) : step;
}

/** @param everyMinutes time between two ticks, counted from the full hour */
export function tickTimes(sinceMs: number, untilMs: number, everyMinutes: number): readonly number[] {
  const every = everyMinutes * MINUTE_MS;
  const ticks: number[] = [];
  for (let at = Math.ceil(sinceMs / every) * every; at < untilMs; at += every) ticks.push(at);
  return ticks;
}

export function valueText(value: number | null | undefined, unit: Unit): string {
  if (value === 0) return '0';
  // Drops the “0 s” after full minutes, and so on.
  return unit === 'seconds' ? duration(value).replace(/ 0 (?:s|min|h)$/u, '') : number(value);
}

/** The parts of a line without gaps; between two parts, at least one value is unknown. */
export function knownSpans(
  values: readonly (number | null)[],
): readonly (readonly { readonly at: number; readonly value: number }[])[] {
  const spans: { at: number; value: number }[][] = [];
  let isGap = true;
  for (const [at, value] of values.entries()) {
    if (value !== null && isGap) spans.push([]);
    if (value !== null) spans.at(-1)?.push({ at, value });
    isGap = value === null;
  }
  return spans;
}
