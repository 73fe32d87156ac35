/** Numbers, shares and durations as text. Pure. */

const NUMBER = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });
const SMALL = new Intl.NumberFormat('en', { maximumSignificantDigits: 2 });
const NONE = '–';

/**
 * @param {number | null | undefined} value
 * @returns {string}
 */
export function number(value) {
  if (value === null || value === undefined) return NONE;
  return Math.abs(value) < 1 && value !== 0 ? SMALL.format(value) : NUMBER.format(value);
}

/**
 * @param {number | null} ratio
 * @returns {string}
 */
export function percent(ratio) {
  return ratio === null ? NONE : `${number(ratio * 100)} %`;
}

/**
 * @param {number | null | undefined} seconds
 * @returns {string}
 */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return NONE;
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${number(seconds)} s`;
  const [days, hours, minutes] = [seconds / 86_400, (seconds / 3600) % 24, (seconds / 60) % 60].map(
    Math.floor,
  );
  if (days) return `${days} d ${hours} h`;
  if (hours) return `${hours} h ${minutes} min`;
  return `${minutes} min ${Math.floor(seconds % 60)} s`;
}

/**
 * @param {number | null | undefined} seconds 0: there is none
 * @returns {string}
 */
export function ageOf(seconds) {
  return seconds === 0 ? NONE : duration(seconds);
}
