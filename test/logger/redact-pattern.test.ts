/** Which patterns of users are refused. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { redactPattern } from '../../src/logger/redact-pattern.ts';
import { ACCEPTED } from './accepted-patterns.ts';

const REFUSED: readonly (readonly [source: string, why: RegExp])[] = [
  ['(a+)+$', /repeats, without a bound/],
  ['(?:a|b)+c', /repeats, without a bound/],
  ['(?:a|a)*c', /repeats, without a bound/],
  ['(?:\\w+\\s?)*\\.x', /repeats, without a bound/],
  ['(x+x+)+y', /repeats, without a bound/],
  ['((?:a*)*b)c', /repeats, without a bound/],
  ['a*a*a*b', /too long/],
  ['.*.*x', /too long/],
  ['\\d+\\d+x', /too long/],
  ['\\S+@\\S+\\.com', /too long/],
  ['(a?){50}a', /too long/],
  ['(?:a{0,30}){0,30}b', /too long/],
  ['ü+\\p{L}+x', /too long/],
  ['(a)\\1', /refers back/],
  ['(?<n>a)\\k<n>', /refers back/],
  ['x*', /empty text/],
  ['', /empty text/],
  ['(', /Unterminated group/],
  ['a'.repeat(600), /longer than 512/],
];

for (const source of ACCEPTED) {
  test(`${source} is accepted`, () => {
    const read = redactPattern(source);
    assert.ok(read.ok, read.ok ? '' : read.flaw);
    assert.equal(read.pattern.source, source);
  });
}

for (const [source, why] of REFUSED) {
  test(`${source.slice(0, 20)} is refused`, () => {
    const read = redactPattern(source);
    assert.ok(!read.ok);
    assert.match(read.flaw, why);
  });
}
