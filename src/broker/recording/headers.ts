/**
 * Converts message headers to JSON and back without loss: AMQP values that JSON lacks are objects with one key that begins
 * with `$`. Pure.
 */
import { HEADER_LIMITS } from '../header-limits.ts';
import { failed, type Outcome } from '../outcome.ts';

const DEPTH_MAX = HEADER_LIMITS.header_depth.max;
const BIGINT = /^-?\d{1,100}$/;

/** A value that cannot be encoded or decoded; never leaves this file. */
class BadValue extends Error {}

/** Strings, numbers, booleans, null, Buffers, Dates, bigints, lists and tables of these. */
export function encodeHeaders(headers: object): Outcome<{ readonly value: unknown }> {
  return attempt(() => ({ value: encodeTable(headers, 1) }));
}

/** @param value encoded headers after `JSON.parse` */
export function decodeHeaders(
  value: unknown,
): Outcome<{ readonly headers: Readonly<Record<string, unknown>> }> {
  return attempt(() => {
    const headers = isObject(value) ? decodeObject(value, 1) : undefined;
    if (!isTable(headers)) throw new BadValue('headers are not a table');
    return { headers };
  });
}

function attempt<T>(work: () => T): Outcome<T> {
  try {
    return { ok: true, ...work() };
  } catch (error) {
    if (error instanceof BadValue) return failed(error.message);
    throw error;
  }
}

function encodeTable(table: object, depth: number): unknown {
  checkDepth(depth);
  const entries = Object.entries(table).map(([key, value]) => [key, encodeValue(value, depth)] as const);
  return entries.some(([key]) => key.startsWith('$')) ? { $table: entries } : Object.fromEntries(entries);
}

function encodeValue(value: unknown, depth: number): unknown {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number') {
    if (Object.is(value, -0)) return { $number: '-0' };
    return Number.isFinite(value) ? value : { $number: String(value) };
  }
  if (typeof value === 'bigint' && BIGINT.test(String(value))) return { $bigint: String(value) };
  if (typeof value !== 'object') throw new BadValue(`headers hold a ${typeof value}`);
  if (Buffer.isBuffer(value)) return { $bytes: value.toString('base64') };
  // An invalid Date is null in JSON.
  if (value instanceof Date) return { $date: value.getTime() };
  if (!Array.isArray(value)) return encodeTable(value, depth + 1);
  checkDepth(depth + 1);
  return value.map((item) => encodeValue(item, depth + 1));
}

function decodeValue(value: unknown, depth: number): unknown {
  if (Array.isArray(value)) {
    checkDepth(depth);
    return value.map((item) => decodeValue(item, depth + 1));
  }
  return isObject(value) ? decodeObject(value, depth) : value;
}

/** A table or a tagged value. */
function decodeObject(object: object, depth: number): unknown {
  const entries = Object.entries(object);
  const tag = entries.find(([key]) => key.startsWith('$'));
  if (tag === undefined) return decodeTable(entries, depth);
  const decoded = entries.length === 1 ? decodeTagged(tag[0], tag[1], depth) : undefined;
  if (decoded === undefined) throw new BadValue('headers hold an invalid tagged value');
  return decoded;
}

/** Object.fromEntries defines properties, so that `__proto__` is a key like any other. */
function decodeTable(
  entries: readonly (readonly [string, unknown])[],
  depth: number,
): Record<string, unknown> {
  checkDepth(depth);
  return Object.fromEntries(entries.map(([key, value]) => [key, decodeValue(value, depth + 1)]));
}

function checkDepth(depth: number): void {
  if (depth > DEPTH_MAX) throw new BadValue(`headers are nested deeper than ${DEPTH_MAX}`);
}

const NUMBERS: ReadonlyMap<unknown, number> = new Map([
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
  ['-0', -0],
]);

/** undefined if the tag is unknown or its value invalid. */
function decodeTagged(tag: string, value: unknown, depth: number): unknown {
  switch (tag) {
    case '$number':
      return NUMBERS.get(value);
    case '$bigint':
      return typeof value === 'string' && BIGINT.test(value) ? BigInt(value) : undefined;
    case '$bytes':
      return typeof value === 'string' ? decodeBase64(value) : undefined;
    case '$date':
      if (value === null) return new Date(Number.NaN);
      return typeof value === 'number' && !Number.isNaN(new Date(value).getTime())
        ? new Date(value)
        : undefined;
    case '$table':
      return Array.isArray(value) ? decodeTable(value.map(tableEntry), depth) : undefined;
    default:
      return undefined;
  }
}

function tableEntry(entry: unknown): readonly [string, unknown] {
  if (Array.isArray(entry) && entry.length === 2 && typeof entry[0] === 'string') return [entry[0], entry[1]];
  throw new BadValue('a table in the headers has a malformed entry');
}

/** undefined if it is not canonical base64: Node skips invalid characters. */
export function decodeBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isTable(value: unknown): value is Readonly<Record<string, unknown>> {
  return isObject(value) && !Buffer.isBuffer(value) && !(value instanceof Date);
}
