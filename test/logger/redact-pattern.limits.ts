/** That no pattern of a user that is accepted takes long, on the worst texts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { redactPattern } from '../../src/logger/redact-pattern.ts';
import { redacted } from '../../src/logger/redaction.ts';
import { boundWorst } from '../bound.ts';
import { processorMs } from '../processor-time.ts';
import { ACCEPTED } from './accepted-patterns.ts';

const COST_MS_MAX = 250;
const PARTS = ['a', 'a.', 'eyJ', 'eyJ.', 'a@', '1', '1.', '1234-', 'x"', 'a1', 'abab', 'ü', '😀', 'A', ' '];

test('A pattern that is accepted takes no long time', (t) => {
  const costs = ACCEPTED.flatMap((source) => {
    const read = redactPattern(source);
    assert.ok(read.ok);
    return PARTS.map((part) => {
      const line = part.repeat(1024).slice(0, 1023);
      const ms = processorMs(() =>
        redacted(`${line}\n`.repeat(16), { redact: [read.pattern], redactNames: [] }),
      );
      return [`${source} in ${part}…`, ms] as const;
    });
  });
  boundWorst(t, 'a pattern of a user in 16 kB', costs, COST_MS_MAX, 'ms');
});
