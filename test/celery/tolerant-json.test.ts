import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseTolerantJson } from '../../src/celery/tolerant-json.ts';

const READ: readonly (readonly [text: string, value: unknown])[] = [
  ['{"a": 1}', { a: 1 }],
  ['NaN', null],
  ['Infinity', null],
  ['-Infinity', null],
  ['[NaN,Infinity,-Infinity]', [null, null, null]],
  ['{"a":NaN,"b":[1,-Infinity]}', { a: null, b: [1, null] }],
  ['\t[ NaN\n]', [null]],
  ['"NaN"', 'NaN'],
  [
    '["NaN", NaN, "Infinity", Infinity, "-Infinity", -Infinity]',
    ['NaN', null, 'Infinity', null, '-Infinity', null],
  ],
  ['{"NaN": NaN, "-Infinity": 1}', { NaN: null, '-Infinity': 1 }],
  [String.raw`["a \" NaN", NaN]`, ['a " NaN', null]],
  [String.raw`["a \\", NaN, "\\"]`, ['a \\', null, '\\']],
  [String.raw`["\\\" NaN \\", NaN]`, ['\\" NaN \\', null]],
  ['[-1, -Infinity, -0.5e3, "I", "-N"]', [-1, null, -500, 'I', '-N']],
];

test('Python’s tokens become null, and texts that look like them stay', () => {
  for (const [text, value] of READ) assert.deepEqual(parseTolerantJson(text), { ok: true, value }, text);
});

const REFUSED = [
  '',
  'nan',
  'NaNN',
  'aNaN',
  'NaN5',
  '5NaN',
  '-NaN',
  '--Infinity',
  '+Infinity',
  'InfinityInfinity',
  'NaN NaN',
  '{NaN: 1}',
  '[NaN',
  '[NaN}',
  '["NaN]',
  "['NaN']",
  '[NaN, "a\nb"]',
  '"\\',
  'NaN"\\',
  'undefined NaN',
  'N',
  'Inf',
  '-',
];

test('whatever else is not JSON is refused', () => {
  for (const text of REFUSED) assert.deepEqual(parseTolerantJson(text), { ok: false }, text);
});

test('time and stack stay bounded, whatever megabytes come', () => {
  const length = 4_000_000;
  const texts = [
    `[NaN, "${'x'.repeat(length)}"]`,
    `[NaN, "${'\\"'.repeat(length / 2)}"]`,
    `[NaN, "${'\\"'.repeat(length / 2)}`,
    `NaN${'"'.repeat(length)}`,
    `NaN${'\\'.repeat(length)}`,
    `NaN${'-'.repeat(length)}`,
    `[${'NaN,'.repeat(length / 4)}NaN]`,
    `NaN${'['.repeat(length)}`,
  ];
  for (const text of texts) {
    const startedAtMs = performance.now();
    parseTolerantJson(text);
    const tookMs = performance.now() - startedAtMs;
    // Tens of milliseconds where it is linear, minutes where it is not.
    assert.ok(tookMs < 5_000, `${text.slice(0, 20)}… took ${tookMs} ms`);
  }
});

test('any JSON comes through with any of its numbers replaced by a token', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom('NaN', 'Infinity', '-Infinity'), (value, token) => {
      const marked = { value, texts: [token, `"${token}\\`], number: 'HERE' };
      const text = JSON.stringify(marked).replace('"HERE"', token);
      const expected: unknown = JSON.parse(JSON.stringify({ ...marked, number: null }));
      assert.deepEqual(parseTolerantJson(text), { ok: true, value: expected });
    }),
    { numRuns: 2_000, seed: 20_261_121 },
  );
});
