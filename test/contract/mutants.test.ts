/** Each break of test/mutants.ts can still be made: its text occurs once, and its tests exist. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { MUTANTS } from '../mutants.ts';
import { ROOT } from './sources.ts';

test('each break changes one place of the source, and names tests that exist', () => {
  assert.ok(MUTANTS.length >= 20);
  assert.equal(new Set(MUTANTS.map(({ rule }) => rule)).size, MUTANTS.length);
  for (const { rule, file, from, to, tests } of MUTANTS) {
    const text = readFileSync(path.join(ROOT, 'src', file), 'utf8');
    assert.equal(text.split(from).length, 2, `${rule}: src/${file} does not have this once: ${from}`);
    assert.notEqual(from, to);
    for (const each of tests) assert.ok(existsSync(path.join(ROOT, 'test', each)), each);
  }
});
