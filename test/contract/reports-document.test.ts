/** The documents about traces and logs have the tables of spans and log records, and the example is what the code makes. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { traceTree } from '../../src/cli/trace-tree.ts';
import {
  type LogEvent,
  RUN_EVENTS,
  type RunEvent,
  TERMINATED_WITH_EXCEPTION,
  WORKER_EXIT_EVENTS,
  WORKER_ONLINE,
} from '../../src/logger/log-events.ts';
import { PLACES, TOKENS } from '../../src/logger/secret-forms.ts';
import { OUTCOMES } from '../../src/tracer/outcomes.ts';
import { OWN_ATTRIBUTES, SHARED_ATTRIBUTES } from '../../src/tracer/span-attributes.ts';
import { processSpanId, sendSpanId } from '../../src/tracer/span-id.ts';
import { traceOrigin } from '../../src/tracer/trace-origin.ts';
import { tracer } from '../tracer/finished-facts.ts';
import { C, WORKED_EXAMPLE } from '../tracer/worked-example.ts';
import { assertGenerated, markdownTable } from './generated-block.ts';

const TRACING = new URL('../../docs/tracing.md', import.meta.url);
const ATTRIBUTES = new URL('../../docs/span-attributes.md', import.meta.url);
const LOGS = new URL('../../docs/logs.md', import.meta.url);

const code = (text: string): string => `\`${text}\``;

test('docs/tracing.md has a trace as it is made and printed', () => {
  const made = tracer();
  const spans = WORKED_EXAMPLE.flatMap((run) => made.trace(run).spans);
  const tree = traceTree(spans, { columns: 110, rowsMax: 100 });
  const rows = spans.map(({ name, spanId, parentSpanId, links }) => [
    code(name),
    code(spanId),
    parentSpanId === '' ? 'none' : code(parentSpanId),
    links.map((link) => `${code(String(link.attributes['celery.link']))} ${code(link.spanId)}`).join(', '),
  ]);
  const table = markdownTable(['span', 'id', 'parent', 'link'], rows);
  assertGenerated(TRACING, 'trace-example', `\`\`\`text\n${tree}\n\`\`\`\n\n${table}`);
});

test('docs/tracing.md has every outcome', () => {
  const rows = Object.entries(OUTCOMES).map(([outcome, row]) => [
    code(outcome),
    row.description,
    row.isError ? 'error' : 'unset',
    row.errorType === undefined ? '' : row.errorType === 'reported' ? 'the class' : code(row.errorType),
    row.isBeyondWorkers ? '✓' : '',
  ]);
  const head = ['outcome', 'what happened', 'status', '`error.type`', 'beyond workers'];
  assertGenerated(TRACING, 'outcomes', markdownTable(head, rows));
});

test('docs/tracing.md says how ids are made', () => {
  const text = readFileSync(TRACING, 'utf8');
  for (const part of ['{uuid}/process/{retries}/{delivery}', '{uuid}/send/{task_name}']) {
    assert.ok(text.includes(`sha256(f"${part}".encode()).hexdigest()[:16]`), part);
  }
  // As Python computes them from these lines.
  assert.equal(traceOrigin('order-17-charge', C, false).traceId, 'c2e408268f3bd738db4f1f71a28f084e');
  assert.equal(processSpanId(C, { retries: 0, delivery: 0 }), 'a8e69524b9ea48d2');
  assert.equal(sendSpanId(C, { name: 'app.charge' }), 'ee4651f2c0d347f0');
});

test('docs/logs.md has every form of a secret', () => {
  for (const [section, forms] of [
    ['secret-tokens', TOKENS],
    ['secret-places', PLACES],
  ] as const)
    assertGenerated(LOGS, section, `${forms.map(({ what }) => what).join('; ')}.`);
});

test('docs/span-attributes.md has every attribute', () => {
  const on = { send: '`send`', process: '`process`', both: 'both' } as const;
  const rows = [...Object.entries(SHARED_ATTRIBUTES), ...Object.entries(OWN_ATTRIBUTES)].map(([key, row]) => [
    code(key),
    on[row.on],
    row.description,
  ]);
  assertGenerated(ATTRIBUTES, 'span-attributes', markdownTable(['attribute', 'span', 'meaning'], rows));
});

test('docs/logs.md has every event', () => {
  const row = (what: string, { eventName, severity }: LogEvent, says: string) => [
    what,
    code(eventName),
    severity,
    says,
  ];
  const ofRun = (how: string, event: RunEvent) => row(`a run is ${how}`, event, `TASK ${event.predicate}`);
  const runs = Object.entries(RUN_EVENTS).flatMap(([outcome, event]) =>
    event === undefined ? [] : [ofRun(code(outcome), event)],
  );
  const withException = ofRun('`terminated`, with an exception', TERMINATED_WITH_EXCEPTION);
  const exits = Object.entries(WORKER_EXIT_EVENTS).map(([reason, event]) =>
    row(`a worker has gone, ${code(reason)}`, event, `WORKER ${event.predicate}`),
  );
  const rows = [
    ...runs,
    withException,
    row(
      'a worker is seen for the first time, or again after it had gone',
      WORKER_ONLINE,
      `WORKER ${WORKER_ONLINE.predicate}`,
    ),
    ...exits,
  ];
  assertGenerated(
    LOGS,
    'log-events',
    markdownTable(['what happened', 'event name', 'severity', 'body'], rows),
  );
});
