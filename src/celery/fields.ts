/**
 * Reads single fields of an untrusted event: wrong types become the stated fallback, numbers are those of the table or
 * none, texts are bounded and detached from the body they came in. It never throws and never copies a field that nobody
 * asked for.
 */
import { BODY_LIMITS } from './body-limits.ts';
import {
  type AnyNumericRow,
  CLOCK_OFF_MS_MAX,
  type Findings,
  flawOf,
  isPlausible,
  kindOf,
  NUMERIC_FIELDS,
  note,
  numeric,
} from './numeric-fields.ts';

/** An object straight from the wire. Only ever read by names that are written in this folder. */
export type RawFields = Readonly<Record<string, unknown>>;

/** RabbitMQ's own limit for names, far above any real task's. */
const NAME_CHARS_MAX = BODY_LIMITS.name.max;

export function isRawFields(value: unknown): value is RawFields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The text of a field, at most so many UTF-16 units and well-formed; '' where it is no text. */
export function name(value: unknown, charsMax = NAME_CHARS_MAX): string {
  if (typeof value !== 'string') return '';
  if (value.length > charsMax) return detached(value.slice(0, charsMax).toWellFormed());
  return value.isWellFormed() ? value : value.toWellFormed();
}

/** An identifier: '' where it is no text or longer than any identifier is; cutting it would mix two up. */
export function identifier(value: unknown): string {
  const text = unwrapped(value);
  return typeof text === 'string' && text.length <= NAME_CHARS_MAX ? text : '';
}

/**
 * kombu ≥ 5.3 writes what JSON has no type for as `{"__type__": …, "__value__": …}`, older kombu as its text alone
 * (utils/json.py). A task called with a `uuid.UUID` as its id has such a `uuid` in all of its events.
 */
function unwrapped(value: unknown): unknown {
  if (!isRawFields(value)) return value;
  const held = value['__value__'];
  switch (value['__type__']) {
    case 'datetime':
      return held;
    case 'uuid':
      return isRawFields(held) ? withDashes(held['hex']) : undefined;
    default:
      return undefined;
  }
}

/** As Python's `str(uuid)`, so that the two forms name one task. */
function withDashes(hex: unknown): string | undefined {
  if (typeof hex !== 'string' || !/^[0-9a-f]{32}$/u.test(hex)) return undefined;
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/u, '$1-$2-$3-$4-');
}

/** Unix seconds → ms since the epoch; undefined where it is not a plausible time. */
export function epochMs(value: unknown): number | undefined {
  return isPlausible(value, NUMERIC_FIELDS.timestamp) ? value * 1000 : undefined;
}

/** The time that an event tells of itself, where it is implausible; that is noted. */
export function implausibleTime(toldMs: number, arrivedAtMs: number, findings: Findings): number | undefined {
  if (Math.abs(toldMs - arrivedAtMs) <= CLOCK_OFF_MS_MAX) return undefined;
  const which = toldMs < arrivedAtMs ? 'before' : 'after';
  note(findings, NUMERIC_FIELDS.timestamp, `more than a day ${which} it came`);
  return toldMs;
}

const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?$/u;

/** ISO-8601 → ms since the epoch; undefined where there is none. Without an offset it is UTC: so workers take it. */
export function isoMs(value: unknown, row: AnyNumericRow, findings: Findings): number | undefined {
  const text = unwrapped(value);
  if (typeof text !== 'string') {
    if (value !== undefined && value !== null)
      note(findings, row, `no text in ISO 8601 but ${kindOf(value)}`);
    return undefined;
  }
  const found = ISO_TIME.exec(text);
  const parsedMs = found === null ? Number.NaN : Date.parse(found[1] === undefined ? `${text}Z` : text);
  if (Number.isNaN(parsedMs)) {
    note(findings, row, 'no time in ISO 8601');
    return undefined;
  }
  return numeric(parsedMs / 1000, row, findings) === undefined ? undefined : parsedMs;
}

/** The three load averages; undefined unless all are plausible. */
export function loadAverages(
  value: unknown,
  findings: Findings,
): readonly [number, number, number] | undefined {
  if (value === undefined || value === null) return undefined;
  const list: readonly unknown[] = Array.isArray(value) ? value : [];
  if (list.length !== 3) {
    note(findings, NUMERIC_FIELDS.loadavg, 'no list of three numbers');
    return undefined;
  }
  const [one, five, fifteen] = list;
  const row = NUMERIC_FIELDS.loadavg;
  if (isPlausible(one, row) && isPlausible(five, row) && isPlausible(fifteen, row))
    return [one, five, fifteen];
  const wrong = list.find((each) => !isPlausible(each, row));
  note(findings, row, `a list in which one is ${wrong === null ? 'null' : flawOf(wrong, row)}`);
  return undefined;
}

/**
 * A copy that does not keep the text alive which it was cut from: engines share the memory of a substring with its
 * parent, and a class name kept for months would hold a whole traceback.
 */
export function detached(text: string): string {
  return Buffer.from(text, 'utf16le').toString('utf16le');
}
