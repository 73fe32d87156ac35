/** docs/metrics.md has the command’s output, the README names each metric, and the documented resources are real. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { metrics } from '../../src/cli/metrics.ts';
import { RESOURCE_ATTRIBUTES } from '../../src/meter/attributes.ts';
import { type InstrumentRow, METRIC_NAMES, METRICS, SELF_METRICS } from '../../src/meter/catalog.ts';
import { serviceResource } from '../../src/otlp/resource.ts';
import { processIo } from '../cli/process-io.ts';
import { assertGenerated, markdownTable } from './generated-block.ts';

const DOCUMENT = new URL('../../docs/metrics.md', import.meta.url);

function overview(table: Readonly<Record<string, InstrumentRow>>): string {
  const rows = Object.entries(table).map(([name, row]) => [
    `\`${name}\``,
    row.instrument,
    row.unit,
    row.enabled === false ? `${row.description} Off by default.` : row.description,
  ]);
  return markdownTable(['metric', 'kind', 'unit', 'meaning'], rows);
}

test('docs/metrics.md has an overview of the catalog', () => {
  const text = [
    'Under the resource of the Celery service:',
    overview(METRICS),
    'About celery-otel itself, under the resource `service.name=celery-otel`:',
    overview(SELF_METRICS),
  ];
  assertGenerated(DOCUMENT, 'overview', text.join('\n\n'));
});

test('docs/metrics.md has the output of celery-otel metrics, below its heading', async () => {
  const { io, stdout } = processIo();
  assert.equal(await metrics([], io), 0);
  const [, heading, reference = ''] = /(# Metrics\n\n)([\s\S]*)\n$/.exec(stdout()) ?? [];
  assert.ok(heading !== undefined);
  assertGenerated(DOCUMENT, 'reference', reference);
});

test('the README names exactly the metrics about Celery', () => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
  const [, section = ''] = /\n## Metrics\n([\s\S]*?)\n## /.exec(readme) ?? [];
  const named = [...section.matchAll(/`(celery\.[^`]*)`/g)].map(([, name]) => name);
  assert.deepEqual(named.sort(), METRIC_NAMES.toSorted());
});

test('the documented resource attributes are those of real resources', () => {
  const { attributes } = serviceResource('celery-otel', {
    'service.instance.id': '1',
    'service.version': '1',
  });
  assert.deepEqual(Object.keys(RESOURCE_ATTRIBUTES), Object.keys(attributes).sort());
  for (const [key, row] of Object.entries(RESOURCE_ATTRIBUTES)) {
    if ('values' in row) assert.deepEqual(row.values, [attributes[key]], key);
  }
});
