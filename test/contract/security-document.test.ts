/** SECURITY.md agrees with the tables of limits. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HEADER_LIMITS } from '../../src/broker/header-limits.ts';
import { LINE_LIMITS } from '../../src/broker/recording/line-limits.ts';
import { BODY_LIMITS } from '../../src/celery/body-limits.ts';
import { REJECTION_REASONS } from '../../src/celery/rejection.ts';
import { createCluster } from '../../src/cluster/cluster.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { assertGenerated, markdownTable } from './generated-block.ts';

const SECURITY = new URL('../../SECURITY.md', import.meta.url);
const LIMITS = { ...HEADER_LIMITS, ...BODY_LIMITS };

test('SECURITY.md has every limit on a message', () => {
  const rows = Object.entries(LIMITS).map(([limit, { unit, max, reason, meaning }]) => [
    `\`${limit}\``,
    max.toLocaleString('en'),
    unit,
    reason === undefined ? '' : `\`${reason}\``,
    meaning,
  ]);
  assertGenerated(
    SECURITY,
    'message-limits',
    markdownTable(['limit', 'at most', 'unit', 'counted as', 'what it is'], rows),
  );
});

test('SECURITY.md has every limit on a recording', () => {
  const rows = Object.entries(LINE_LIMITS).map(([limit, { unit, max, meaning }]) => [
    `\`${limit}\``,
    max.toLocaleString('en'),
    unit,
    meaning,
  ]);
  assertGenerated(
    SECURITY,
    'recording-limits',
    markdownTable(['limit', 'at most', 'unit', 'what it is'], rows),
  );
});

test('SECURITY.md has the limits on the state of a service, with their memory', () => {
  const env = { CELERY_BROKER_URL: 'amqp://localhost', OTEL_SERVICE_NAME: 'shop' };
  const loaded = loadConfig({ argv: [], env });
  assert.ok(loaded.ok);
  const [service] = loaded.config.services;
  assert.ok(service !== undefined);
  const { tasksMax, workersMax, heldMax, skewPairsMax } = service.cluster;
  const tables = createCluster(service.cluster, () => {}).tables();
  const limits = [
    ['tasks', tasksMax, 'tasks_max'],
    ['workers', workersMax, 'workers_max'],
    ['reordering_window', heldMax, 'reordering_events_max'],
    ['clock_skews', skewPairsMax, 'skew_pairs_max'],
  ] as const;
  assertGenerated(
    SECURITY,
    'memory-limits',
    markdownTable(
      ['table', 'entries at most', 'memory at most', 'option'],
      limits.map(([table, entries, option]) => [
        `\`${table}\``,
        entries.toLocaleString('en'),
        `${(tables[table].bytesMax / 1e6).toLocaleString('en', { maximumFractionDigits: 1 })} MB`,
        `\`${option}\``,
      ]),
    ),
  );
});

test('the reason of every limit is a reason for dropped input', () => {
  for (const [limit, { reason }] of Object.entries(LIMITS)) {
    assert.ok(reason === undefined || reason in REJECTION_REASONS, `${limit}: ${reason}`);
  }
});
