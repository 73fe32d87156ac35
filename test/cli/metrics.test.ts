import assert from 'node:assert/strict';
import { test } from 'node:test';
import { METRIC_NAMES, METRICS, SELF_METRICS } from '../../src/meter/catalog.ts';
import { runInProcess } from './process-io.ts';

const metrics = (...argv: readonly string[]) => runInProcess(['metrics', ...argv]);

test('metrics prints the catalog as Markdown by default', async () => {
  const printed = await metrics();
  assert.equal(printed.code, 0);
  assert.equal(printed.stderr, '');
  for (const name of [...METRIC_NAMES, ...Object.keys(SELF_METRICS)])
    assert.ok(printed.stdout.includes(`\n### ${name}\n`), name);
  assert.match(
    printed.stdout,
    /CELERY_OTEL_METRICS_DISABLED=celery\.\S+\ncelery-otel run --disable-metrics celery\./u,
  );
  assert.deepEqual(await metrics('--format', 'md'), printed);
});

test('metrics prints all rows as JSON', async () => {
  const { code, stdout, stderr } = await metrics('--format=json');
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  const named = (rows: Readonly<Record<string, object>>) =>
    Object.entries(rows).map(([name, row]) => ({ name, ...row }));
  const printed: Record<string, unknown> = JSON.parse(stdout);
  assert.deepEqual(printed['metrics'], named(METRICS));
  assert.deepEqual(printed['internalTelemetry'], named(SELF_METRICS));
});
