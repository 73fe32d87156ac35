/** The places that characters take, by what terminals do and not by the code. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cut, fit, widthOf } from '../../src/top/cells.ts';

test('wide characters take two places, combining ones none', () => {
  assert.deepEqual(['pay', '決済', 'e\u0301', '🛒', '…'].map(widthOf), [3, 4, 1, 2, 1]);
  assert.equal(fit('決済', 6), '決済  ');
  assert.equal(fit('決済', 6, true), '  決済');
  assert.equal(cut('決済処理', 6), '決済…');
  assert.equal(cut('決済処理', 4), '決…');
});
