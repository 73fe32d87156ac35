import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ATTRIBUTES, type AttributeRow, RESOURCE_ATTRIBUTES } from '../../src/meter/attributes.ts';
import {
  combinationOf,
  type InstrumentRow,
  isMetricName,
  METRIC_NAMES,
  METRICS,
  SELF_METRICS,
} from '../../src/meter/catalog.ts';

const ROWS: readonly [string, InstrumentRow][] = Object.entries({ ...METRICS, ...SELF_METRICS });
const DESCRIBED: readonly [string, AttributeRow][] = Object.entries({
  ...ATTRIBUTES,
  ...RESOURCE_ATTRIBUTES,
});

/** A description is a sentence; it may begin with a number or a name. */
const SENTENCE = /^[A-Z0-9`].*\.$/u;

function attributesOf(row: InstrumentRow): readonly string[] {
  return [...row.attributes, ...(row.optionalAttributes ?? []), ...(row.optInAttributes ?? [])];
}

/** What is wrong with a row by the OpenTelemetry naming rules and their translation to Prometheus. */
function faults(name: string, row: InstrumentRow): readonly string[] {
  const buckets = row.buckets ?? [];
  const attributes = attributesOf(row);
  const rules: readonly [broken: boolean, fault: string][] = [
    [!/^celery(_otel)?(\.[a-z]+(_[a-z]+)*)+$/u.test(name), 'a name is lower-case words with dots'],
    [/[._]total$/u.test(name), 'no _total: exporters add it'],
    [!/^(s|By|\{[a-z]+\}|1|)$/u.test(row.unit), `unit ${row.unit} is none of UCUM’s or of {annotations}`],
    [row.instrument === 'gauge' && row.unit === '1', 'unit 1 makes a gauge a _ratio'],
    [row.instrument === 'counter' && !/^(s|By|\{.*)$/u.test(row.unit), 'a counter counts something'],
    [row.instrument === 'histogram' && row.valueType === 'int', 'a histogram measures'],
    [row.unit === 's' && row.valueType === 'int', 'seconds have fractions'],
    [(row.buckets !== undefined) !== (row.instrument === 'histogram'), 'buckets are a histogram’s'],
    [(row.combined !== undefined) !== (row.instrument === 'gauge'), 'a gauge, and it alone, is combined'],
    [buckets.some((bound, index) => index > 0 && bound <= (buckets[index - 1] ?? 0)), 'bounds ascend'],
    [!SENTENCE.test(row.description), 'a description is a sentence'],
    [new Set(attributes).size !== attributes.length, 'an attribute is named once'],
    [attributes.some((key) => !(key in ATTRIBUTES)), 'every attribute is described'],
  ];
  return rules.filter(([broken]) => broken).map(([, fault]) => fault);
}

/** What is wrong with the description of an attribute. */
function attributeFaults(key: string, row: AttributeRow): readonly string[] {
  const values = typeof row.values === 'string' ? undefined : row.values;
  const rules: readonly [broken: boolean, fault: string][] = [
    [!/^[a-z]+(_[a-z]+)*(\.[a-z]+(_[a-z]+)*)+$/u.test(key), 'a key is lower-case words with dots'],
    [!SENTENCE.test(row.description), 'a description is a sentence'],
    [values?.length === 0, 'a closed list has values'],
    [new Set(values).size !== (values?.length ?? 0), 'a value is listed once'],
    [values?.some((value) => !/^[a-z0-9_-]+$/u.test(value)) === true, 'a value is a lower-case word'],
  ];
  return rules.filter(([broken]) => broken).map(([, fault]) => fault);
}

for (const [name, row] of ROWS) {
  test(`${name} follows the rules for names, units, values and buckets`, () => {
    assert.deepEqual(faults(name, row), []);
  });
}

test('every attribute follows the rules for keys and values', () => {
  assert.deepEqual(
    DESCRIBED.flatMap(([key, row]) => attributeFaults(key, row).map((fault) => `${key}: ${fault}`)),
    [],
  );
});

test('the rules reject rows that break any of them', () => {
  const good: InstrumentRow = {
    instrument: 'counter',
    unit: '{thing}',
    valueType: 'int',
    stability: 'development',
    enabled: true,
    attributes: ['error.type'],
    description: 'Things.',
  };
  const gauge = { instrument: 'gauge', combined: 'sum' } as const;
  const named = (name: string, change: Partial<InstrumentRow>) => faults(name, { ...good, ...change });
  assert.deepEqual(named('celery.things', {}), []);
  const cases: [name: string, change: Partial<InstrumentRow>, fault: string][] = [
    ['Celery.things', {}, 'a name is lower-case words with dots'],
    ['celery.things.total', {}, 'no _total: exporters add it'],
    ['celery.things_total', {}, 'no _total: exporters add it'],
    ['celery.things', { ...gauge, unit: 'ms' }, 'unit ms is none of UCUM’s or of {annotations}'],
    ['celery.things', { ...gauge, unit: '1' }, 'unit 1 makes a gauge a _ratio'],
    ['celery.things', { instrument: 'gauge' }, 'a gauge, and it alone, is combined'],
    ['celery.things', { combined: 'sum' }, 'a gauge, and it alone, is combined'],
    ['celery.things', { unit: '1' }, 'a counter counts something'],
    ['celery.things', { unit: 's' }, 'seconds have fractions'],
    ['celery.things', { instrument: 'histogram', buckets: [1] }, 'a histogram measures'],
    ['celery.things', { instrument: 'histogram', valueType: 'double' }, 'buckets are a histogram’s'],
    ['celery.things', { buckets: [1] }, 'buckets are a histogram’s'],
    ['celery.things', { instrument: 'histogram', valueType: 'double', buckets: [2, 1] }, 'bounds ascend'],
    ['celery.things', { description: 'things' }, 'a description is a sentence'],
    ['celery.things', { optionalAttributes: ['error.type'] }, 'an attribute is named once'],
    ['celery.things', { optInAttributes: ['error.type'] }, 'an attribute is named once'],
  ];
  for (const [name, change, fault] of cases) assert.deepEqual(named(name, change), [fault]);

  const bad: [key: string, row: AttributeRow, fault: string][] = [
    ['Key.a', { description: 'A.' }, 'a key is lower-case words with dots'],
    ['key.a', { description: 'a' }, 'a description is a sentence'],
    ['key.a', { description: 'A.', values: [] }, 'a closed list has values'],
    ['key.a', { description: 'A.', values: ['a', 'a'] }, 'a value is listed once'],
    ['key.a', { description: 'A.', values: ['a b'] }, 'a value is a lower-case word'],
  ];
  for (const [key, row, fault] of bad) assert.deepEqual(attributeFaults(key, row), [fault]);
});

test('every described attribute is used by some row', () => {
  const used = new Set(ROWS.flatMap(([, row]) => attributesOf(row)));
  assert.deepEqual(
    Object.keys(ATTRIBUTES).filter((key) => !used.has(key)),
    [],
  );
});

test('a name is in the catalog only if it has a row', () => {
  assert.deepEqual(METRIC_NAMES, Object.keys(METRICS));
  assert.ok(METRIC_NAMES.every(isMetricName));
  for (const name of ['celery.task', 'celery_otel.up', 'toString', '__proto__', ''])
    assert.ok(!isMetricName(name));
});

test('the values of a gauge are combined as its row says, and of one that has no row the highest is taken', () => {
  assert.equal(combinationOf('celery.worker.tasks.active'), 'sum');
  assert.equal(combinationOf('celery.worker.heartbeat.age'), 'max');
  assert.equal(combinationOf('celery_otel.table.entries'), 'sum');
  assert.equal(combinationOf('celery_otel.memory.usage'), 'max');
  for (const name of ['another.gauge', 'toString', '__proto__', '']) assert.equal(combinationOf(name), 'max');
});
