/** Numbers, shares and durations as text. Pure. */

const NUMBER = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });
const SMALL = new Intl.NumberFormat('en', { maximumSignificantDigits: 2 });
export const NONE = '–';

export function number(value: number | null | undefined): string {
  if (value === null || value === undefined) return NONE;
  return Math.abs(value) < 1 && value !== 0 ? SMALL.format(value) : NUMBER.format(value);
}

export function percent(ratio: number | null): string {
  return ratio === null ? NONE : `${number(ratio * 100)} %`;
}

export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return NONE;
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${number(seconds)} s`;
  const [days = 0, hours = 0, minutes = 0] = [
    seconds / 86_400,
    (seconds / 3600) % 24,
    (seconds / 60) % 60,
  ].map(Math.floor);
  if (days) return `${days} d ${hours} h`;
  if (hours) return `${hours} h ${minutes} min`;
  return `${minutes} min ${Math.floor(seconds % 60)} s`;
}

/** The age of the oldest task. @param seconds 0: there is no task */
export function ageOf(seconds: number | null): string {
  return seconds === 0 ? NONE : duration(seconds);
}

const DAY_MS = 86_400_000;

/** Local time of day; with the date if it was more than 24 hours ago. */
export function moment(iso: string, now: Date): string {
  const time = new Date(iso);
  const isWithinADay = now.getTime() - time.getTime() < DAY_MS;
  return isWithinADay ? clock(time) : `${time.toLocaleDateString()} ${clock(time)}`;
}

/** Local time of day. */
export function clock(time: Date): string {
  return time.toTimeString().slice(0, 8);
}
