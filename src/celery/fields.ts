/**
 * Reads single fields of an untrusted event: wrong types become the stated fallback, texts are bounded and detached
 * from the body they came in. It never throws and never copies a field that nobody asked for.
 */

/** An object straight from the wire. Only ever read by names that are written in this folder. */
export type RawFields = Readonly<Record<string, unknown>>;

/** Names longer than this are cut: RabbitMQ's own limit for names, far above any real task's. */
const NAME_CHARS_MAX = 255;

/** 20 November 2286: a later timestamp is milliseconds taken for seconds, or nonsense. */
const TIMESTAMP_S_MAX = 9_999_999_999;

export function isRawFields(value: unknown): value is RawFields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The text of a field, at most 255 UTF-16 units and well-formed; '' where it is no text. */
export function name(value: unknown): string {
  if (typeof value !== 'string') return '';
  if (value.length > NAME_CHARS_MAX) return detached(value.slice(0, NAME_CHARS_MAX).toWellFormed());
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

export function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}

export function integer(value: unknown, fallback: number): number {
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : fallback;
}

/** Unix seconds → ms since the epoch; undefined where it is not a plausible time. */
export function epochMs(value: unknown): number | undefined {
  return typeof value === 'number' && value > 0 && value <= TIMESTAMP_S_MAX ? value * 1000 : undefined;
}

const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?$/u;

/** ISO-8601 → ms since the epoch; undefined where there is none. Without an offset it is UTC: so workers take it. */
export function isoMs(value: unknown): number | undefined {
  const text = unwrapped(value);
  if (typeof text !== 'string') return undefined;
  const found = ISO_TIME.exec(text);
  if (found === null) return undefined;
  const parsed = Date.parse(found[1] === undefined ? `${text}Z` : text);
  return Number.isNaN(parsed) ? undefined : parsed;
}

/** The three load averages; undefined unless all are numbers. */
export function loadAverages(value: unknown): readonly [number, number, number] | undefined {
  if (!Array.isArray(value)) return undefined;
  const list: readonly unknown[] = value;
  const [one, five, fifteen] = [count(list[0]), count(list[1]), count(list[2])];
  return one === undefined || five === undefined || fifteen === undefined ? undefined : [one, five, fifteen];
}

/**
 * A copy that does not keep the text alive which it was cut from: engines share the memory of a substring with its
 * parent, and a class name kept for months would hold a whole traceback.
 */
export function detached(text: string): string {
  return Buffer.from(text, 'utf16le').toString('utf16le');
}
