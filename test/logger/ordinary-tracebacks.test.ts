/** Of texts as libraries raise them, only secrets are hidden, and what cannot be distinguished from one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { redacted } from '../../src/logger/redaction.ts';
import { ORDINARY } from './ordinary-tracebacks.ts';

/** False hits in all texts together; one more needs a reason. */
const FALSE_HITS = 7;

for (const { of, text, because = [] } of ORDINARY)
  test(`of ${of} nothing else is hidden`, () => {
    assert.equal(redacted(text.replaceAll(/[«»‹›]/g, '')), text.replaceAll(/«[^»]*»|‹[^›]*›/g, '***'));
    assert.equal(text.match(/‹/g)?.length ?? 0, because.length);
  });

test('few of them are no secrets', () => {
  const reasons = ORDINARY.flatMap(({ because = [] }) => because);
  assert.equal(reasons.length, FALSE_HITS);
});
