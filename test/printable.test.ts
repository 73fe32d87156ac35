import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { CeleryOtelError } from '../src/errors.ts';
import { printable, printableLines } from '../src/printable.ts';
import { HOSTILE, HOSTILE_SHOWN, UNPRINTABLE } from './hostile-text.ts';

test('what steers a terminal, breaks a line or turns the direction of writing is escaped where it can be seen', () => {
  assert.equal(printable(HOSTILE), HOSTILE_SHOWN);
  assert.equal(printable('\u061c\u200e\u2060\u2069\ufeff'), '\\u061c\\u200e\\u2060\\u2069\\ufeff');
  assert.equal(printable('\u{e0041}a\udfffb\ud83d'), '\\u{e0041}a\\udfffb\\ud83d');
});

test('text of any language stays as it is', () => {
  const text = 'w1@höst-7 „größer“ 数据 данные עברית 😀 a\\u001b "quoted" 100 %';
  assert.equal(printable(text), text);
});

test('lines of our own stay lines', () => {
  assert.equal(printableLines('one\n  two\u001b\n'), 'one\n  two\\u001b\n');
});

test('whatever the text is, none of it is left that could not be shown', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      assert.doesNotMatch(printable(text), UNPRINTABLE);
      assert.equal(printable(printable(text)), printable(text));
    }),
  );
});

test('an error says what it says on one line', () => {
  const error = new CeleryOtelError('START_FAILED', HOSTILE, { hint: HOSTILE, cause: HOSTILE });
  assert.deepEqual([error.message, error.hint, error.cause], [HOSTILE_SHOWN, HOSTILE_SHOWN, HOSTILE]);
  assert.match(error.stack ?? '', /^START_FAILED: w1@h\\u001b[^\n]*\n {4}at /u);
});
