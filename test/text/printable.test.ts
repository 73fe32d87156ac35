import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CeleryOtelError } from '../../src/text/errors.ts';
import { printable, printableLines } from '../../src/text/printable.ts';
import { HOSTILE, HOSTILE_SHOWN, UNPRINTABLE } from '../hostile-text.ts';
import { fc } from '../seed.ts';

test('control, line-break and direction characters are escaped visibly', () => {
  assert.equal(printable(HOSTILE), HOSTILE_SHOWN);
  assert.equal(printable('\u061c\u200e\u2060\u2069\ufeff'), '\\u061c\\u200e\\u2060\\u2069\\ufeff');
  assert.equal(printable('\u{e0041}a\udfffb\ud83d'), '\\udb40\\udc41a\\udfffb\\ud83d');
});

test('text in any language is unchanged', () => {
  const text = 'w1@höst-7 „größer“ 数据 данные עברית 😀 a\\u001b "quoted" 100 %';
  assert.equal(printable(text), text);
});

test('a JSON document stays one, and says the same', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      assert.equal(JSON.parse(printableLines(JSON.stringify({ text }, undefined, 2))).text, text);
    }),
  );
  const flag = '\u{1f3f4}\u{e0067}\u{e0062}\u{e007f}';
  assert.equal(JSON.parse(printableLines(JSON.stringify(flag))), flag);
});

test('our own line breaks are kept', () => {
  assert.equal(printableLines('one\n  two\u001b\n'), 'one\n  two\\u001b\n');
});

test('any text becomes printable', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      assert.doesNotMatch(printable(text), UNPRINTABLE);
      assert.equal(printable(printable(text)), printable(text));
    }),
  );
});

test('an error is described on one line', () => {
  const error = new CeleryOtelError('START_FAILED', HOSTILE, { hint: HOSTILE, cause: HOSTILE });
  assert.deepEqual([error.message, error.hint, error.cause], [HOSTILE_SHOWN, HOSTILE_SHOWN, HOSTILE]);
  assert.match(error.stack ?? '', /^START_FAILED: w1@h\\u001b[^\n]*\n {4}at /u);
});
