/** Parsing of JSON in which numbers may be tokens that only Python writes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTolerantJson } from '../../src/celery/tolerant-json.ts';
import { fc } from '../seed.ts';
import { hostileJson } from './hostile-json.ts';

const READ: readonly (readonly [text: string, value: unknown])[] = [
  ['{"a": 1}', { a: 1 }],
  ['NaN', Infinity],
  ['Infinity', Infinity],
  ['-Infinity', Infinity],
  ['[NaN,Infinity,-Infinity]', [Infinity, Infinity, Infinity]],
  ['{"a":NaN,"b":[1,-Infinity]}', { a: Infinity, b: [1, Infinity] }],
  ['\t[ NaN\n]', [Infinity]],
  ['"NaN"', 'NaN'],
  [
    '["NaN", NaN, "Infinity", Infinity, "-Infinity", -Infinity]',
    ['NaN', Infinity, 'Infinity', Infinity, '-Infinity', Infinity],
  ],
  ['{"NaN": NaN, "-Infinity": 1}', { NaN: Infinity, '-Infinity': 1 }],
  [String.raw`["a \" NaN", NaN]`, ['a " NaN', Infinity]],
  [String.raw`["a \\", NaN, "\\"]`, ['a \\', Infinity, '\\']],
  [String.raw`["\\\" NaN \\", NaN]`, ['\\" NaN \\', Infinity]],
  ['[-1, -Infinity, -0.5e3, "I", "-N"]', [-1, Infinity, -500, 'I', '-N']],
];

test('Python’s tokens become non-finite numbers, and strings that contain them are unchanged', () => {
  for (const [text, value] of READ) assert.deepEqual(parseTolerantJson(text), { ok: true, value }, text);
});

const REFUSED = [
  '',
  'nan',
  'NaNN',
  'aNaN',
  'NaN5',
  '5NaN',
  '5 NaN',
  '[1NaN]',
  '[1.Infinity]',
  '[-1e-Infinity]',
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

test('other invalid JSON is refused', () => {
  for (const text of REFUSED) assert.deepEqual(parseTolerantJson(text), { ok: false }, text);
});

test('the stack is bounded for megabytes of any text', () => {
  for (const text of hostileJson(4_000_000)) parseTolerantJson(text);
});

test('any JSON is parsed, with any of its numbers replaced by a token', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom('NaN', 'Infinity', '-Infinity'), (value, token) => {
      const marked = { value, texts: [token, `"${token}\\`], number: 'HERE' };
      const text = JSON.stringify(marked).replace('"HERE"', token);
      const expected = { ...JSON.parse(JSON.stringify(marked)), number: Infinity };
      assert.deepEqual(parseTolerantJson(text), { ok: true, value: expected });
    }),
    { numRuns: 2_000 },
  );
});
