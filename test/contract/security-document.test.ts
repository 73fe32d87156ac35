/** SECURITY.md says what the table of limits says. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HEADER_LIMITS } from '../../src/broker/header-limits.ts';
import { BODY_LIMITS } from '../../src/celery/body-limits.ts';
import { REJECTION_REASONS } from '../../src/celery/rejection.ts';
import { assertGenerated, markdownTable } from './generated-block.ts';

const LIMITS = { ...HEADER_LIMITS, ...BODY_LIMITS };

test('SECURITY.md has every limit of a message', () => {
  const rows = Object.entries(LIMITS).map(([limit, { unit, max, reason, meaning }]) => [
    `\`${limit}\``,
    max.toLocaleString('en'),
    unit,
    reason === undefined ? '' : `\`${reason}\``,
    meaning,
  ]);
  assertGenerated(
    new URL('../../SECURITY.md', import.meta.url),
    'message-limits',
    markdownTable(['limit', 'at most', 'unit', 'counted as', 'what it is'], rows),
  );
});

test('the reason of a limit is one of the reasons for not counting', () => {
  for (const [limit, { reason }] of Object.entries(LIMITS)) {
    assert.ok(reason === undefined || reason in REJECTION_REASONS, `${limit}: ${reason}`);
  }
});
