import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decode } from '../../src/celery/decode.ts';
import {
  type AnyNumericRow,
  type Findings,
  NOTHING_IMPLAUSIBLE,
  NUMERIC_FIELDS,
  numeric,
} from '../../src/celery/numeric-fields.ts';
import { message, WIRE_EVENTS } from './wire.ts';

/** What a value is read as, and what is noted of it. */
function read(value: unknown, row: AnyNumericRow): { number: number | undefined; health: readonly string[] } {
  const findings: Findings = { implausible: NOTHING_IMPLAUSIBLE };
  const number = numeric(value, row, findings);
  return { number, health: findings.implausible.map(({ field, detail }) => `${field}: ${detail}`) };
}

for (const row of Object.values(NUMERIC_FIELDS)) {
  const { field, unit, min, max, whole } = row;
  const inUnit = unit === '' ? '' : ` ${unit}`;

  test(`${field} is accepted from its minimum to its maximum, and not beyond`, () => {
    for (const value of [min, max]) assert.deepEqual(read(value, row), { number: value, health: [] });
    for (const value of [min - 1, -1e300]) {
      assert.deepEqual(read(value, row), { number: undefined, health: [`${field}: below ${min}${inUnit}`] });
    }
    for (const value of [max + 1, 1e20, Number.MAX_VALUE]) {
      assert.deepEqual(read(value, row), { number: undefined, health: [`${field}: above ${max}${inUnit}`] });
    }
    const fraction = read(1.5, row);
    assert.deepEqual(
      fraction,
      whole ? { number: undefined, health: [`${field}: not a whole number`] } : { number: 1.5, health: [] },
    );
  });

  test(`a value of ${field} that is not a number is noted with its type; a missing one is not`, () => {
    const kinds: readonly (readonly [value: unknown, health: readonly string[]])[] = [
      [undefined, []],
      [null, []],
      ['17', [`${field}: a string`]],
      [true, [`${field}: a boolean`]],
      [[17], [`${field}: a list`]],
      [{ __type__: 'decimal', __value__: '17' }, [`${field}: an object`]],
      [Infinity, [`${field}: not finite`]],
      [NaN, [`${field}: not finite`]],
    ];
    for (const [value, health] of kinds) assert.deepEqual(read(value, row), { number: undefined, health });
  });

  test(`the row of ${field} has its key as its name, and no sum of its values exceeds its type`, () => {
    assert.equal(NUMERIC_FIELDS[field].field, field);
    assert.ok(min < max && Number.isSafeInteger(min) && Number.isSafeInteger(max));
    // As many measurements as are ever made, added up.
    assert.ok(max * 1e15 < Number.MAX_VALUE);
    assert.match(row.meaning, /^[A-Z].*\.$/u);
  });
}

test('the notes of a list are those of all its events, in order', () => {
  const { events, implausible } = decode(
    message([
      { ...WIRE_EVENTS['task-received'], retries: -1 },
      WIRE_EVENTS['task-started'],
      { ...WIRE_EVENTS['task-succeeded'], runtime: 1.7e308, pid: 2.5 },
    ]),
  );
  assert.equal(events.length, 3);
  assert.deepEqual(implausible, [
    { field: 'retries', detail: 'below 0 {retry}' },
    { field: 'pid', detail: 'not a whole number' },
    { field: 'runtime', detail: 'above 1000000000 s' },
  ]);
});

test('a rejected event has no other notes', () => {
  for (const broken of [{ hostname: '' }, { timestamp: 0 }, { uuid: 17 }, { type: 'task-progress' }]) {
    const { rejections, implausible } = decode(
      message({ ...WIRE_EVENTS['task-received'], pid: -1, retries: 1e20, ...broken }),
    );
    assert.equal(rejections.length, 1);
    assert.deepEqual(implausible, []);
  }
});

test('messages without notes share one empty list', () => {
  assert.equal(decode(message(WIRE_EVENTS['task-sent'])).implausible, NOTHING_IMPLAUSIBLE);
  assert.equal(decode(message(Object.values(WIRE_EVENTS))).implausible, NOTHING_IMPLAUSIBLE);
  decode(message({ ...WIRE_EVENTS['task-sent'], pid: 'x' }));
  assert.deepEqual(NOTHING_IMPLAUSIBLE, []);
});
