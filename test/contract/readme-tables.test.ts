import { test } from 'node:test';
import { REJECTION_REASONS } from '../../src/celery/rejection.ts';
import { METRICS, type MetricRow, SELF_METRICS } from '../../src/meter/catalog.ts';
import { assertGenerated, markdownTable } from './generated-block.ts';

const README = new URL('../../README.md', import.meta.url);

function metricRows(table: Readonly<Record<string, MetricRow>>): readonly (readonly string[])[] {
  return Object.entries(table).map(([name, row]) => {
    const optional = (row.optionalAttributes ?? []).map((key) => `\`${key}\` (where it applies)`);
    const attributes = [...row.attributes.map((key) => `\`${key}\``), ...optional].join(', ');
    return [`\`${name}\``, row.instrument, row.unit, attributes || '–', row.description];
  });
}

test('the README has the metrics of the catalog', () => {
  const head = ['metric', 'kind', 'unit', 'attributes', 'what it is'];
  const services = markdownTable(head, metricRows(METRICS));
  const own = markdownTable(head, metricRows(SELF_METRICS));
  const text = `Under the resource of the Celery service:\n\n${services}\n\nUnder that of the bridge itself, \`service.name=celery-otel\`:\n\n${own}`;
  assertGenerated(README, 'metrics', text);
});

test('the README has every reason for not counting', () => {
  const rows = Object.entries(REJECTION_REASONS).map(([reason, { meaning, intentional }]) => [
    `\`${reason}\``,
    meaning,
    intentional ? 'by design' : 'a loss',
  ]);
  assertGenerated(README, 'reasons', markdownTable(['reason', 'meaning', ''], rows));
});
