import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createSelfDiag } from '../../src/self/self-diag.ts';
import type { SelfEvent } from '../../src/self/self-event.ts';
import { diagLines } from '../diag-lines.ts';
import { HOSTILE, HOSTILE_SHOWN } from '../hostile-text.ts';

const DROPPED: SelfEvent = {
  kind: 'input-dropped',
  service: 'shop',
  reason: 'invalid-json',
  intentional: false,
  detail: '12 characters',
};

function reported(t: TestContext, events: readonly SelfEvent[]) {
  const lines = diagLines(t);
  const report = createSelfDiag();
  for (const event of events) report(event);
  return lines;
}

test('untrusted text forges no diagnostics either', (t) => {
  const lines = reported(t, [{ ...DROPPED, service: HOSTILE, detail: HOSTILE }]);
  const text = `celery-otel: not counted: invalid-json (${HOSTILE_SHOWN})`;
  assert.deepEqual(lines, [['warn', text, { kind: 'input-dropped', service: HOSTILE_SHOWN }]]);
});

test('warnings and errors are passed on with text and fields; information is not', (t) => {
  const lines = reported(t, [
    DROPPED,
    { ...DROPPED, intentional: true },
    { kind: 'service-started', service: 'shop', brokers: ['amqp://h'] },
    { kind: 'defect', service: 'shop', where: 'export', reason: 'TypeError: x' },
  ]);
  assert.deepEqual(lines, [
    [
      'warn',
      'celery-otel: not counted: invalid-json (12 characters)',
      { kind: 'input-dropped', service: 'shop' },
    ],
    [
      'error',
      'celery-otel: internal error in an export, which will be retried: TypeError: x',
      { kind: 'defect', service: 'shop' },
    ],
  ]);
});

test('a flood is one line a minute, and the next one has the number of those suppressed', (t) => {
  const lines = diagLines(t);
  let nowMs = 0;
  const report = createSelfDiag(() => nowMs);
  for (let index = 0; index < 1000; index += 1) report(DROPPED);
  assert.equal(lines.length, 1);
  nowMs = 60_000;
  report(DROPPED);
  assert.deepEqual(lines.at(-1)?.[2], { kind: 'input-dropped', service: 'shop', held_back: 999 });
});
