/**
 * For any input, decoding gives one event or one rejection for each element, all numbers are plausible, and it never
 * throws.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decode } from '../../src/celery/decode.ts';
import type { CeleryEvent } from '../../src/celery/event.ts';
import { EVENT_TYPES } from '../../src/celery/event-types.ts';
import { NUMERIC_FIELDS, type NumericField } from '../../src/celery/numeric-fields.ts';
import { REJECTION_REASONS } from '../../src/celery/rejection.ts';
import { fc } from '../seed.ts';
import { message, TRACED, WIRE_EVENTS } from './wire.ts';

/** Occurs in payloads only: to find it elsewhere means that a payload leaked. */
const SECRET = 'pa55word';

const REASONS: ReadonlySet<string> = new Set(Object.keys(REJECTION_REASONS));

/** Decodes, and asserts what is true of every message. */
function read(of: ReturnType<typeof message>): { events: number; rejections: number } {
  const { events, rejections, implausible } = decode(of, 0, undefined, TRACED);
  for (const event of events) {
    assert.ok(EVENT_TYPES.has(event.type));
    assert.notEqual(event.hostname, '');
    assert.ok(event.timestampMs > 0 && Number.isFinite(event.timestampMs));
    assert.ok(!('uuid' in event) || (event.uuid !== '' && event.uuid.length <= 255));
    for (const value of Object.values(event)) assertBounded(value);
    assertPlausible(event);
  }
  for (const { field, detail } of implausible) {
    assert.ok(field in NUMERIC_FIELDS, field);
    assert.match(detail, /^[\x20-\x7e]{1,120}$/u);
    assert.ok(!detail.includes(SECRET), detail);
  }
  for (const { reason, detail } of rejections) {
    assert.ok(REASONS.has(reason), reason);
    assert.match(detail, /^[\x20-\x7e]{1,120}$/u);
    assert.ok(!detail.includes(SECRET), detail);
  }
  return { events: events.length, rejections: rejections.length };
}

function assertBounded(value: unknown): void {
  if (typeof value === 'string') assert.ok(value.length <= 255);
  else if (typeof value === 'number') assert.ok(Number.isFinite(value));
  else if (Array.isArray(value)) for (const element of value) assert.ok(Number.isFinite(element));
  else assert.ok(value === undefined || typeof value === 'boolean', `a ${typeof value}`);
}

/**
 * A number of an event: the field that it was read from, how many of it are one of the field’s unit, and what else it
 * may be.
 */
const READ_FROM: Readonly<
  Record<string, readonly [field: NumericField, perUnit: number, unreported?: number]>
> = {
  timestampMs: ['timestamp', 1000],
  implausibleMs: ['timestamp', 1000],
  pid: ['pid', 1, 0],
  clock: ['clock', 1, -1],
  retries: ['retries', 1, 0],
  etaMs: ['eta', 1000],
  expiresMs: ['expires', 1000],
  runtimeS: ['runtime', 1],
  active: ['active', 1],
  processed: ['processed', 1],
  loadavg: ['loadavg', 1],
  freqS: ['freq', 1],
};

/** Every number of an event is one that its row in the table allows. */
function assertPlausible(event: CeleryEvent): void {
  for (const [key, value] of Object.entries(event)) {
    for (const number of [value].flat()) {
      if (typeof number !== 'number') continue;
      const [field, perUnit, unreported] = READ_FROM[key] ?? assert.fail(`${key} is in no row`);
      const { min, max, whole } = NUMERIC_FIELDS[field];
      if (number === unreported) continue;
      assert.ok(number >= min * perUnit && number <= max * perUnit, `${key}: ${number}`);
      assert.ok(!whole || Number.isSafeInteger(number), `${key}: ${number}`);
    }
  }
}

const contentTypes = fc.oneof(
  { weight: 4, arbitrary: fc.constant('application/json') },
  {
    weight: 1,
    arbitrary: fc.constantFrom('application/x-python-serialize', 'application/x-yaml', '', '__proto__'),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
);
const encodings = fc.oneof(
  { weight: 4, arbitrary: fc.constant('utf-8') },
  { weight: 1, arbitrary: fc.constantFrom('', 'latin-1', 'binary', 'utf-16', 'constructor') },
  { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
);
const headers = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  {
    weight: 1,
    arbitrary: fc.record({
      compression: fc.constantFrom(
        'application/x-gzip',
        'application/x-brotli',
        'application/zstd',
        'application/x-bz2',
      ),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ compression: fc.anything({ withBigInt: true, withNullPrototype: true }) }),
  },
);
const properties = fc.record({ contentType: contentTypes, contentEncoding: encodings, headers });

test('any bytes with any properties give one outcome', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), properties, (bytes, overrides) => {
      const { events, rejections } = read(message(Buffer.from(bytes), overrides));
      assert.ok(events + rejections >= 1);
    }),
    { numRuns: 3_000 },
  );
});

/** How many events or rejections a value is to become. */
function elements(value: unknown): number {
  return Array.isArray(value) && value.length > 0 ? value.length : 1;
}

function total(value: unknown): number {
  const { events, rejections } = read(message(value));
  return events + rejections;
}

test('any JSON value: each element is one event or one rejection', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4, stringUnit: 'binary' }), (value) => {
      const text = JSON.stringify(value);
      assert.equal(total(text), elements(JSON.parse(text)));
    }),
    { numRuns: 2_000 },
  );
});

/** What may stand where a field's own value stood. */
const values = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    '',
    0,
    -1,
    1e308,
    [],
    {},
    'NaN',
    '__proto__',
    '\ud800',
    SECRET.repeat(500),
  ),
  fc.constantFrom<unknown>(
    { __type__: 'uuid', __value__: { hex: 'f'.repeat(32) } },
    { __type__: 'datetime', __value__: 0 },
  ),
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.double(),
  fc.jsonValue({ maxDepth: 2 }),
);

const FIELDS = [...new Set(Object.values(WIRE_EVENTS).flatMap((event) => Object.keys(event)))];

/** A valid event in which fields were dropped, retyped, added from other types or told twice; as JSON text. */
const mutated = fc
  .record({
    event: fc.constantFrom(...Object.values(WIRE_EVENTS)),
    dropped: fc.subarray(FIELDS, { maxLength: 2 }),
    changed: fc.array(fc.tuple(fc.constantFrom(...FIELDS, '__proto__', 'constructor'), values), {
      maxLength: 3,
    }),
    token: fc.option(fc.constantFrom('NaN', 'Infinity', '-Infinity'), { nil: undefined, freq: 4 }),
  })
  .map(({ event, dropped, changed, token }) => {
    const kept = Object.entries(event).filter(([field]) => !dropped.includes(field));
    const pairs = [...kept, ...changed, ['secret', SECRET] as const].map(
      ([field, value]) => `${JSON.stringify(field)}:${JSON.stringify(value)}`,
    );
    if (token !== undefined) pairs.push(`"note":${token}`);
    return `{${pairs.join(',')}}`;
  });

test('valid events with broken fields give one event or one rejection each', () => {
  fc.assert(
    fc.property(mutated, (text) => {
      assert.equal(total(text), 1);
    }),
    { numRuns: 3_000 },
  );
});

/** Any number of Python, as its JSON has it: any double, any length, and those that JSON has none for. */
const numbers = fc.oneof(
  fc.double().map((double) => (Number.isNaN(double) ? 'NaN' : double > 1e308 ? 'Infinity' : String(double))),
  fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }).map(String),
  fc.integer().map(String),
  fc.constantFrom(
    'NaN',
    'Infinity',
    '-Infinity',
    '-0',
    '1e999',
    '-1e-999',
    '9007199254740993',
    '1e20',
    '1.7e308',
  ),
);

/** The fields that hold one number, and in which events each is. */
const SCALARS = Object.entries(READ_FROM).filter(
  ([key]) => !['timestampMs', 'implausibleMs', 'etaMs', 'expiresMs', 'loadavg'].includes(key),
);

test('any number in any numeric field is used if plausible, else noted', () => {
  const changed = fc
    .tuple(fc.constantFrom(...Object.values(WIRE_EVENTS)), fc.constantFrom(...SCALARS), numbers)
    .filter(([event, [, [field]]]) => field in event);
  fc.assert(
    fc.property(changed, ([wire, [key, [field, , unreported]], number]) => {
      const text = message(JSON.stringify({ ...wire, [field]: 'HERE' }).replace('"HERE"', number));
      assert.equal(read(text).events, 1);
      const { events, implausible } = decode(text, 0, undefined, TRACED);
      const { min, max, whole } = NUMERIC_FIELDS[field];
      const reported = Number(number);
      const isPlausible = reported >= min && reported <= max && (!whole || Number.isInteger(reported));
      assert.equal(
        Object.entries(events[0] ?? {}).find(([name]) => name === key)?.[1],
        isPlausible ? reported : unreported,
      );
      assert.deepEqual(
        implausible.map((one) => one.field),
        isPlausible ? [] : [field],
      );
    }),
    { numRuns: 5_000 },
  );
});

test('in lists of valid and broken events, all valid ones are decoded', () => {
  const good = fc.constantFrom(...Object.values(WIRE_EVENTS)).map((event) => JSON.stringify(event));
  const rubbish = fc.constantFrom('null', '17', '[]', '{}', '"task-sent"', '{"type":"task-progress"}');
  const element = fc.oneof(
    good.map((text) => ({ text, good: true })),
    mutated.map((text) => ({ text, good: false })),
    rubbish.map((text) => ({ text, good: false })),
  );
  fc.assert(
    fc.property(fc.array(element, { minLength: 1, maxLength: 24 }), (list) => {
      const { events, rejections } = read(message(`[${list.map(({ text }) => text).join(',')}]`));
      assert.equal(events + rejections, list.length);
      assert.ok(events >= list.filter((each) => each.good).length);
    }),
    { numRuns: 1_000 },
  );
});

test('decoding does not change prototypes', () => {
  const before = Object.getOwnPropertyNames(Object.prototype).sort();
  fc.assert(
    fc.property(mutated, (text) => {
      decode(message(`[${text},{"__proto__":{"polluted":1}},{"constructor":{"prototype":{"polluted":1}}}]`));
    }),
    { numRuns: 500 },
  );
  assert.deepEqual(Object.getOwnPropertyNames(Object.prototype).sort(), before);
});
