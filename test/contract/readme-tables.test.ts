import { test } from 'node:test';
import { NUMERIC_FIELDS } from '../../src/celery/numeric-fields.ts';
import { REJECTION_REASONS } from '../../src/celery/rejection.ts';
import { type InstrumentRow, METRICS, type MetricRow, SELF_METRICS } from '../../src/meter/catalog.ts';
import { assertGenerated, markdownTable } from './generated-block.ts';

const README = new URL('../../README.md', import.meta.url);

/** Short: what else there is to say of a metric is in METRICS.md. */
function metricTable(table: Readonly<Record<string, InstrumentRow & Partial<MetricRow>>>): string {
  const rows = Object.entries(table).map(([name, row]) => [
    `\`${name}\``,
    row.instrument,
    row.unit,
    row.enabled === false ? `${row.description} Off by default.` : row.description,
  ]);
  return markdownTable(['metric', 'kind', 'unit', 'what it is'], rows);
}

test('the README has the metrics of the catalog', () => {
  const text = [
    'Under the resource of the Celery service:',
    metricTable(METRICS),
    'Under that of the bridge itself, `service.name=celery-otel`:',
    metricTable(SELF_METRICS),
  ];
  assertGenerated(README, 'metrics', text.join('\n\n'));
});

test('the README has every reason for not counting', () => {
  const rows = Object.entries(REJECTION_REASONS).map(([reason, { meaning, intentional }]) => [
    `\`${reason}\``,
    meaning,
    intentional ? 'by design' : 'a loss',
  ]);
  assertGenerated(README, 'reasons', markdownTable(['reason', 'meaning', ''], rows));
});

test('the README has every numeric field with what is plausible in it', () => {
  const rows = Object.entries(NUMERIC_FIELDS).map(([field, { min, max, unit, whole, meaning }]) => [
    `\`${field}\``,
    `${min.toLocaleString('en')} to ${max.toLocaleString('en')}${whole ? ', whole' : ''}`,
    unit,
    meaning,
  ]);
  assertGenerated(README, 'numeric-fields', markdownTable(['field', 'plausible', 'unit', 'meaning'], rows));
});
