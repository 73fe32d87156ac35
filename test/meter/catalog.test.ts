import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ATTRIBUTES, METRICS, type MetricRow, SELF_METRICS } from '../../src/meter/catalog.ts';

const ROWS: readonly [string, MetricRow][] = Object.entries({ ...METRICS, ...SELF_METRICS });

/** What is wrong with a row by the OpenTelemetry naming rules and their translation to Prometheus. */
function faults(name: string, row: MetricRow): readonly string[] {
  const found: string[] = [];
  if (!/^celery(_otel)?(\.[a-z]+(_[a-z]+)*)+$/u.test(name))
    found.push('a name is lower-case words with dots');
  if (name.endsWith('.total') || name.endsWith('_total')) found.push('no _total: exporters add it');
  if (!/^(s|By|\{[a-z]+\}|)$/u.test(row.unit))
    found.push(`unit ${row.unit} is none of UCUM’s or of {annotations}`);
  if (row.instrument === 'gauge' && row.unit === '1') found.push('unit 1 makes a gauge a _ratio');
  if (row.instrument === 'counter' && !row.unit.startsWith('{')) found.push('a counter counts {things}');
  if ((row.buckets !== undefined) !== (row.instrument === 'histogram'))
    found.push('buckets are a histogram’s');
  const buckets = row.buckets ?? [];
  if (buckets.some((bound, index) => index > 0 && bound <= (buckets[index - 1] ?? 0)))
    found.push('bounds ascend');
  if (!/^[A-Z0-9].*\.$/u.test(row.description)) found.push('a description is a sentence');
  for (const key of [...row.attributes, ...(row.optionalAttributes ?? [])]) {
    if (!(key in ATTRIBUTES)) found.push(`attribute ${key} is not described`);
  }
  return found;
}

for (const [name, row] of ROWS) {
  test(`${name} keeps the rules for names, units and buckets`, () => {
    assert.deepEqual(faults(name, row), []);
  });
}

test('the rules reject a row that breaks each of them', () => {
  const bad: MetricRow = {
    instrument: 'gauge',
    unit: '1',
    attributes: [],
    description: 'x',
    buckets: [2, 1],
  };
  assert.equal(faults('Celery.up_total', bad).length, 7);
});

test('every described attribute is used by some row', () => {
  const used = new Set(ROWS.flatMap(([, row]) => [...row.attributes, ...(row.optionalAttributes ?? [])]));
  assert.deepEqual(
    Object.keys(ATTRIBUTES).filter((key) => !new Set<string>(used).has(key)),
    [],
  );
});
