/** docs/migrating.md has a row for each metric of the peers, names options that exist, and a rule that Prometheus takes. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { parse, stringify } from 'yaml';
import { flagOf, optionRows } from '../../src/config/options.ts';
import { METRICS } from '../../src/meter/catalog.ts';
import { codeSpans } from '../contract/links.ts';
import { ROOT } from '../contract/sources.ts';
import { runHere } from '../deploy/linters.ts';
import { CELERY_EXPORTER, FLOWER } from './peers.ts';

const DOCUMENT = readFileSync(path.join(ROOT, 'docs/migrating.md'), 'utf8');
/** The celery-exporter’s about queues; events give none. */
const OF_QUEUES = [
  'celery_queue_length',
  'celery_active_consumer_count',
  'celery_active_worker_count',
  'celery_active_process_count',
];

/** The cells of all tables below a heading. */
function rowsBelow(heading: string): readonly (readonly string[])[] {
  const sections = DOCUMENT.split(/^#+ /mu).filter((section) => section.startsWith(`${heading}\n`));
  return sections
    .flatMap((section) => [...section.matchAll(/^\| (.*) \|$/gmu)])
    .map(([, row = '']) => row.split(' | '))
    .filter(([theirs = '']) => theirs.startsWith('`'));
}

test('each metric of the peers has a row, with metrics of celery-otel', () => {
  const rows = rowsBelow('Its metrics');
  const reported = rows.flatMap(([theirs = '']) => codeSpans(theirs));
  const asked = [CELERY_EXPORTER, FLOWER].flatMap(({ asked: names }) => Object.keys(names));
  const bases = asked.map((name) => name.replace(/_(?:bucket|sum|count)$/u, ''));
  assert.deepEqual(reported.toSorted(), [...new Set([...bases, ...OF_QUEUES])].sort());
  const ours = rows.flatMap(([, cell = '']) => codeSpans(cell));
  assert.ok(ours.length >= rows.length);
  assert.deepEqual(
    ours.filter((name) => !Object.hasOwn(METRICS, name)),
    [],
  );
});

test('the options of celery-otel exist', () => {
  const rows = rowsBelow('Its options');
  assert.ok(rows.length > 20);
  const flags = new Set<string>(optionRows().map(([key]) => flagOf(key)));
  const named = rows.flatMap(([, cell = '']) => codeSpans(cell)).filter((span) => span.startsWith('--'));
  assert.ok(named.length > 5);
  assert.deepEqual(
    named.filter((flag) => !flags.has(flag)),
    [],
  );
});

test('the rule for the time before a start gives its mean', async (t) => {
  const [, rule = ''] = /```yaml\n([^`]*)```/u.exec(DOCUMENT) ?? [];
  const folder = mkdtempSync(path.join(tmpdir(), 'migrating-'));
  t.after(() => rmSync(folder, { recursive: true }));
  assert.equal(parse(rule).groups.length, 1);
  writeFileSync(path.join(folder, 'rule.yaml'), rule);
  const series = (part: string, each: number) => ({
    series: `flower_task_prefetch_time_seconds_${part}{worker="w1@a", task="pay"}`,
    values: `0+${each}x10`,
  });
  const name = 'flower_task_prefetch_time_seconds';
  const story = {
    interval: '1m',
    input_series: [series('sum', 30), series('count', 60)],
    promql_expr_test: [
      {
        expr: name,
        eval_time: '10m',
        exp_samples: [{ labels: `${name}{worker="w1@a", task="pay"}`, value: 0.5 }],
      },
    ],
  };
  const file = path.join(folder, 'story.yaml');
  writeFileSync(file, stringify({ rule_files: ['rule.yaml'], evaluation_interval: '1m', tests: [story] }));
  const { code, stdout, stderr } = await runHere('promtool', ['test', 'rules', file]);
  assert.equal(code, 0, stdout + stderr);
});
