/** Numbers and times as the documents of the status have them: rounded, and null if unknown. Pure. */

/** ISO 8601; null if it is unknown, or is no time that a calendar has. */
export function timeOf(ms: number | undefined): string | null {
  const time = new Date(ms ?? Number.NaN);
  return Number.isNaN(time.getTime()) ? null : time.toISOString();
}

/** The time, ISO 8601, of what happened so many ms before the given one. */
export function agoOf(time: Date, ageMs: number): string {
  return new Date(time.getTime() - ageMs).toISOString();
}

/** Null instead of NaN. */
export function known(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}

/** With three significant digits. */
export function rounded(value: number | undefined): number | null {
  return value === undefined || Number.isNaN(value) ? null : Number(value.toPrecision(3));
}

/** Seconds with three decimals. */
export function seconds(ms: number): number {
  return Math.round(ms) / 1000;
}
