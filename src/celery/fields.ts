/**
 * Reads single fields of an untrusted event: it replaces values of the wrong type by a fallback, ignores implausible numbers,
 * and cuts long strings and detaches them from the body. It never throws.
 */
import { isJsonObject } from '../text/json-structure.ts';
import { BODY_LIMITS } from './body-limits.ts';
import {
  type AnyNumericRow,
  addFinding,
  CLOCK_OFF_MS_MAX,
  type Findings,
  flawOf,
  isPlausible,
  kindOf,
  NUMERIC_FIELDS,
  numeric,
} from './numeric-fields.ts';

/** An untrusted JSON object. Only fields whose names are written literally in this folder are read. */
export type RawFields = Readonly<Record<string, unknown>>;

/** UTF-16 units: RabbitMQ's limit for names, far above the length of any real task name. */
const NAME_CHARS_MAX = BODY_LIMITS.name.max;

/** The text of a string field, well-formed and cut to `charsMax` UTF-16 units; '' if it is not a string. */
export function name(value: unknown, charsMax = NAME_CHARS_MAX): string {
  if (typeof value !== 'string') return '';
  if (value.length > charsMax) return detached(value.slice(0, charsMax).toWellFormed());
  return value.isWellFormed() ? value : value.toWellFormed();
}

/** The text of an identifier; '' if it is not a string, or too long. It is never cut: two different ids could become equal. */
export function identifier(value: unknown): string {
  const text = unwrapped(value);
  return typeof text === 'string' && text.length <= NAME_CHARS_MAX ? text : '';
}

/**
 * kombu ≥ 5.3 writes types that JSON lacks as `{"__type__": …, "__value__": …}`, and older versions write them as strings
 * (utils/json.py). If the id of a task is a `uuid.UUID`, the `uuid` in all of its events has this form.
 */
function unwrapped(value: unknown): unknown {
  if (!isJsonObject(value)) return value;
  const inner = value['__value__'];
  switch (value['__type__']) {
    case 'datetime':
      return inner;
    case 'uuid':
      return isJsonObject(inner) ? withDashes(inner['hex']) : undefined;
    default:
      return undefined;
  }
}

/** Like Python's `str(uuid)`, so that both forms identify the same task. */
function withDashes(hex: unknown): string | undefined {
  if (typeof hex !== 'string' || !/^[0-9a-f]{32}$/u.test(hex)) return undefined;
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/u, '$1-$2-$3-$4-');
}

/** Unix seconds → ms since the epoch; undefined if implausible. */
export function epochMs(value: unknown): number | undefined {
  return isPlausible(value, NUMERIC_FIELDS.timestamp) ? value * 1000 : undefined;
}

/** Returns the event's own time, ms since the epoch, and adds a finding, if that time is implausible; otherwise undefined. */
export function implausibleTime(ownMs: number, arrivedAtMs: number, findings: Findings): number | undefined {
  if (Math.abs(ownMs - arrivedAtMs) <= CLOCK_OFF_MS_MAX) return undefined;
  const direction = ownMs < arrivedAtMs ? 'before' : 'after';
  addFinding(findings, NUMERIC_FIELDS.timestamp, `more than a day ${direction} its arrival`);
  return ownMs;
}

const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?$/u;

/** ISO 8601 → ms since the epoch; undefined if missing or invalid. A time without an offset is UTC, as workers read it. */
export function isoMs(value: unknown, row: AnyNumericRow, findings: Findings): number | undefined {
  const text = unwrapped(value);
  if (typeof text !== 'string') {
    if (value !== undefined && value !== null)
      addFinding(findings, row, `${kindOf(value)} instead of ISO 8601`);
    return undefined;
  }
  const found = ISO_TIME.exec(text);
  const parsedMs = found === null ? Number.NaN : Date.parse(found[1] === undefined ? `${text}Z` : text);
  if (Number.isNaN(parsedMs)) {
    addFinding(findings, row, 'not a time in ISO 8601');
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
    addFinding(findings, NUMERIC_FIELDS.loadavg, 'not a list of three numbers');
    return undefined;
  }
  const [one, five, fifteen] = list;
  const row = NUMERIC_FIELDS.loadavg;
  if (isPlausible(one, row) && isPlausible(five, row) && isPlausible(fifteen, row))
    return [one, five, fifteen];
  const wrong = list.find((each) => !isPlausible(each, row));
  addFinding(findings, row, `a list with a value that is ${wrong === null ? 'null' : flawOf(wrong, row)}`);
  return undefined;
}

/**
 * A copy with its own memory. A substring shares the memory of the string that it was cut from, so a class name kept for
 * months would keep a whole traceback in memory.
 */
export function detached(text: string): string {
  return Buffer.from(text, 'utf16le').toString('utf16le');
}
