import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeMistake } from '../../src/config/mistake.ts';
import { HOSTILE, HOSTILE_SHOWN } from '../hostile-text.ts';

test('a mistake is one line, whatever its source', () => {
  assert.equal(
    describeMistake({ path: HOSTILE, source: HOSTILE, value: HOSTILE, expected: HOSTILE }),
    `${HOSTILE_SHOWN} (${HOSTILE_SHOWN}) is ${HOSTILE_SHOWN}: expected ${HOSTILE_SHOWN}`,
  );
});
