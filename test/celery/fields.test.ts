import assert from 'node:assert/strict';
import { test } from 'node:test';
import { detached, epochMs, identifier, isoMs, loadAverages, name } from '../../src/celery/fields.ts';
import { type Findings, NOTHING_IMPLAUSIBLE, NUMERIC_FIELDS } from '../../src/celery/numeric-fields.ts';

/** As kombu ≥ 5.3 writes what JSON has no type for. */
function typed(type: unknown, value: unknown): unknown {
  return { __type__: type, __value__: value };
}

const HEX = '0123456789abcdef0123456789abcdef';
const UUID = '01234567-89ab-cdef-0123-456789abcdef';
/** 2 January 2026, 03:04:05 UTC. */
const ETA_MS = Date.UTC(2026, 0, 2, 3, 4, 5);

interface Case {
  readonly title: string;
  readonly read: (value: unknown) => unknown;
  /** [what is on the wire, what it is read as] */
  readonly cases: readonly (readonly [wire: unknown, read: unknown])[];
}

/** For what is not about findings. */
function unheeded(): Findings {
  return { implausible: NOTHING_IMPLAUSIBLE };
}

/** What is noted of a value. */
function health(read: (findings: Findings) => unknown): readonly string[] {
  const findings = unheeded();
  read(findings);
  return findings.implausible.map(({ field, detail }) => `${field}: ${detail}`);
}

const NO_NUMBERS: readonly unknown[] = [undefined, null, '1', true, [], {}, NaN, Infinity, -Infinity, 1n];

const TABLE: readonly Case[] = [
  {
    title: 'a name',
    read: (wire) => name(wire),
    cases: [
      ['shop.pay', 'shop.pay'],
      ['', ''],
      ['x'.repeat(255), 'x'.repeat(255)],
      ['x'.repeat(256), 'x'.repeat(255)],
      ['\ud83d', '\ufffd'],
      [`${'x'.repeat(254)}😀`, `${'x'.repeat(254)}\ufffd`],
      ...[undefined, null, 1, true, [], {}, ['shop.pay'], typed('bytes', 'shop.pay')].map(
        (wire) => [wire, ''] as const,
      ),
    ],
  },
  {
    title: 'an identifier',
    read: identifier,
    cases: [
      [UUID, UUID],
      ['my own id', 'my own id'],
      ['x'.repeat(255), 'x'.repeat(255)],
      ['x'.repeat(256), ''],
      [typed('uuid', { hex: HEX }), UUID],
      [typed('uuid', { hex: HEX.toUpperCase() }), ''],
      [typed('uuid', { hex: `${HEX}0` }), ''],
      [typed('uuid', { hex: 5 }), ''],
      [typed('uuid', HEX), ''],
      [typed('uuid', null), ''],
      [typed('decimal', '5'), ''],
      [typed('__proto__', '5'), ''],
      [typed({}, '5'), ''],
      ...[undefined, null, 1, true, [], {}, [UUID]].map((wire) => [wire, ''] as const),
    ],
  },
  {
    title: 'a timestamp',
    read: epochMs,
    cases: [
      [1795231151, 1795231151000],
      [1795231151.5, 1795231151500],
      [9_999_999_999, 9_999_999_999_000],
      [10_000_000_000, undefined],
      [1795231151500, undefined],
      [0, undefined],
      [-1, undefined],
      ...NO_NUMBERS.map((wire) => [wire, undefined] as const),
    ],
  },
  {
    title: 'a time in ISO-8601',
    read: (value) => isoMs(value, NUMERIC_FIELDS.eta, unheeded()),
    cases: [
      ['2026-01-02T03:04:05+00:00', ETA_MS],
      ['2026-01-02T03:04:05.250000+00:00', ETA_MS + 250],
      ['2026-01-02T03:04:05Z', ETA_MS],
      ['2026-01-02T05:04:05+02:00', ETA_MS],
      ['2026-01-01T21:34:05-05:30', ETA_MS],
      // As a client that gives a datetime without a time zone sends it; the worker then takes it for UTC.
      ['2026-01-02T03:04:05', ETA_MS],
      [typed('datetime', '2026-01-02T03:04:05+00:00'), ETA_MS],
      // The first and the last that Python knows.
      ['0001-01-01T00:00:00', -62_135_596_800_000],
      ['9999-12-31T23:59:59.999999', 253_402_300_799_999],
      ['0000-01-01T00:00:00', undefined],
      ['2026-13-02T03:04:05+00:00', undefined],
      ['2026-01-02', undefined],
      ['5', undefined],
      ['Fri, 02 Jan 2026 03:04:05 GMT', undefined],
      ['', undefined],
      [`2026-01-02T03:04:05.${'0'.repeat(1_000_000)}Z`, undefined],
      [typed('date', '2026-01-02'), undefined],
      [typed('datetime', 5), undefined],
      ...[undefined, null, 1767323045, true, [], {}].map((wire) => [wire, undefined] as const),
    ],
  },
  {
    title: 'load averages',
    read: (value) => loadAverages(value, unheeded()),
    cases: [
      [
        [2.15, 1.88, 1.09],
        [2.15, 1.88, 1.09],
      ],
      [
        [0, 0, 0],
        [0, 0, 0],
      ],
      [[1, 2, 3, 4], undefined],
      [[1, 2], undefined],
      [[1, 2, 1e8], undefined],
      [[1, 2, Infinity], undefined],
      [[1, null, 3], undefined],
      [[1, -2, 3], undefined],
      [[1, '2', 3], undefined],
      [{ 0: 1, 1: 2, 2: 3 }, undefined],
      ...[undefined, null, 1, '1,2,3', {}].map((wire) => [wire, undefined] as const),
    ],
  },
];

for (const { title, read, cases } of TABLE) {
  test(`${title} is read from any value of its field`, () => {
    for (const [index, [wire, expected]] of cases.entries()) {
      assert.deepEqual(read(wire), expected, `case ${index}`);
    }
  });
}

test('a time without an offset does not depend on the machine’s time zone', (t) => {
  const before = process.env['TZ'];
  t.after(() => {
    if (before === undefined) delete process.env['TZ'];
    else process.env['TZ'] = before;
  });
  for (const zone of ['America/New_York', 'Asia/Kolkata', 'UTC']) {
    process.env['TZ'] = zone;
    assert.equal(isoMs('2026-01-02T03:04:05', NUMERIC_FIELDS.eta, unheeded()), ETA_MS, zone);
  }
});

test('a malformed time is noted, and a missing one is not', () => {
  const cases: readonly (readonly [wire: unknown, health: readonly string[]])[] = [
    ['2026-01-02T03:04:05+00:00', []],
    [typed('datetime', '2026-01-02T03:04:05+00:00'), []],
    [undefined, []],
    [null, []],
    ['tomorrow', ['eta: not a time in ISO 8601']],
    ['2026-13-02T03:04:05+00:00', ['eta: not a time in ISO 8601']],
    ['0000-01-01T00:00:00', ['eta: below -62135596800 s since 1970']],
    [1767323045, ['eta: a number instead of ISO 8601']],
    [typed('date', '2026-01-02'), ['eta: an object instead of ISO 8601']],
  ];
  for (const [wire, expected] of cases) {
    assert.deepEqual(
      health((findings) => isoMs(wire, NUMERIC_FIELDS.eta, findings)),
      expected,
    );
  }
});

test('malformed load averages are noted once', () => {
  const cases: readonly (readonly [wire: unknown, health: readonly string[]])[] = [
    [[0, 0, 0], []],
    [undefined, []],
    [null, []],
    [1, ['loadavg: not a list of three numbers']],
    [[], ['loadavg: not a list of three numbers']],
    [[1, -2, '3'], ['loadavg: a list with a value that is below 0 {run}']],
    [[1, null, 3], ['loadavg: a list with a value that is null']],
    [[1, [], 3], ['loadavg: a list with a value that is a list']],
  ];
  for (const [wire, expected] of cases) {
    assert.deepEqual(
      health((findings) => loadAverages(wire, findings)),
      expected,
    );
  }
});

test('a detached text is unchanged', () => {
  for (const text of ['', 'KeyError', 'Größe', '😀', '\ud800', 'nul\0']) assert.equal(detached(text), text);
});
