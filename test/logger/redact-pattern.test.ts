/** Which patterns of users are refused, and that those that are not take no long time on the worst texts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { redactPattern } from '../../src/logger/redact-pattern.ts';
import { redacted } from '../../src/logger/redaction.ts';
import { processorMs } from '../processor-time.ts';

const ACCEPTED = [
  ...[
    'sk_live_[0-9a-zA-Z]+',
    'eyJ[\\w-]+\\.[\\w-]+\\.[\\w-]+',
    '\\b\\d{4}-\\d{4}\\b',
    'customer=\\S+',
    'a.*b',
  ],
  ...['(?:\\d{1,3}\\.){3}\\d{1,3}', '(?:\\d{4}[ -]?){3}\\d{4}', '[\\w.+-]+@[\\w.]+', '(?:[\\w-]+\\.)+com'],
  ...[
    '[a-z]{1,64}[0-9]{1,64}x',
    '[^"]+"x',
    '(?<n>ab|cd)e',
    '[\\]a]+b',
    '(?<=id )\\d+',
    'ü+x',
    '^\\s+x',
    'a+?b',
  ],
  ...['\\p{L}+ \\d', '[\\u{1f600}-\\u{1f64f}]+x', 'a(?!b)c', '\\x41+B', 'a\\.b+', '(?:(?:ab){2}c){3}'],
];

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

test('A pattern that is accepted takes no long time', () => {
  const parts = ['a', 'a.', 'eyJ', 'eyJ.', 'a@', '1', '1.', '1234-', 'x"', 'a1', 'abab', 'ü', '😀', 'A', ' '];
  for (const source of ACCEPTED) {
    const read = redactPattern(source);
    assert.ok(read.ok);
    for (const part of parts) {
      const line = part.repeat(1024).slice(0, 1023);
      const ms = processorMs(() => redacted(`${line}\n`.repeat(16), [read.pattern]));
      assert.ok(ms < 250, `${ms} ms: ${source} in ${part}…`);
    }
  }
});
