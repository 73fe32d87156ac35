import assert from 'node:assert/strict';
import { test } from 'node:test';
import { METRIC_NAMES, METRICS, type MetricName, OPT_INS } from '../../src/meter/catalog.ts';
import { chooseMetrics, type MetricEntry } from '../../src/meter/metric-choice.ts';

const workers = METRIC_NAMES.filter((name) => name.startsWith('celery.worker.'));
const without = (...names: readonly MetricName[]) =>
  new Set(METRIC_NAMES.filter((name) => !names.includes(name)));

const switches = (names: Readonly<Record<string, boolean>>): readonly MetricEntry[] =>
  Object.entries(names).map(([name, enabled]) => ({
    name,
    enabled,
    attributes: undefined,
    source: `of ${name}`,
  }));
const asks = (name: string, ...attributes: readonly string[]): MetricEntry => ({
  name,
  enabled: undefined,
  attributes,
  source: `of ${name}`,
});

/** The last layer stands for the defaults. */
const on = (...layers: readonly Readonly<Record<string, boolean>>[]): ReadonlySet<MetricName> =>
  new Set(chooseMetrics(layers.map(switches)).flatMap(({ name, isEnabled }) => (isEnabled ? [name] : [])));

const allOn = { '*': true };
const allOff = { '*': false };

test('each metric has the state of its row unless an entry changes it', () => {
  const byDefault = METRIC_NAMES.filter((name) => METRICS[name].enabled);
  assert.deepEqual(on(), new Set(byDefault));
  assert.deepEqual(on({}, {}), new Set(byDefault));
});

test('every metric can be enabled and disabled by its name', () => {
  for (const name of METRIC_NAMES) {
    assert.deepEqual(on({ [name]: false }, allOn), without(name));
    assert.deepEqual(on({ [name]: true }, allOff), new Set([name]));
  }
});

test('a * at the end matches anything', () => {
  assert.ok(workers.length > 1 && workers.length < METRIC_NAMES.length);
  assert.deepEqual(on({ 'celery.worker.*': false }, allOn), without(...workers));
  assert.deepEqual(on({ 'celery.worker.*': true }, allOff), new Set(workers));
  assert.deepEqual(on({ '*': false }, allOn), new Set());
});

test('the most specific matching entry wins, in any order', () => {
  const cases: [entries: Readonly<Record<string, boolean>>, metrics: ReadonlySet<MetricName>][] = [
    [{ '*': false, 'celery.worker.*': true }, new Set(workers)],
    [{ 'celery.worker.*': true, 'celery.worker.up': false }, without('celery.worker.up')],
    [{ 'celery.task.sent': false, 'celery.task.sent*': true }, without('celery.task.sent')],
    [
      { '*': false, 'celery.worker.up': false, 'celery.worker.*': true },
      new Set(workers.filter((name) => name !== 'celery.worker.up')),
    ],
  ];
  for (const [entries, metrics] of cases) {
    assert.deepEqual(on(entries, allOn), metrics);
    assert.deepEqual(on(Object.fromEntries(Object.entries(entries).reverse()), allOn), metrics);
  }
});

test('an earlier layer wins over more specific entries of a later one', () => {
  assert.deepEqual(on({ '*': false }, { 'celery.task.sent': true }, allOn), new Set());
  assert.deepEqual(
    on({ 'celery.worker.*': true }, { '*': false, 'celery.task.sent': true }, allOn),
    new Set(['celery.task.sent', ...workers]),
  );
});

test('attributes are those of the most specific entry that has any, which may be none', () => {
  const [optIn] = OPT_INS;
  assert.ok(optIn !== undefined);
  const [name = '', key = ''] = optIn.split('/');
  const asked = (...layers: readonly (readonly MetricEntry[])[]) =>
    chooseMetrics(layers).flatMap(({ optIns }) => optIns);
  assert.deepEqual(asked(), []);
  assert.deepEqual(asked([asks(name, key)]), [optIn]);
  assert.ok(asked([asks('*', key)]).includes(optIn));
  assert.deepEqual(asked([asks('*', key), asks(name)]).includes(optIn), false);
  assert.deepEqual(asked([asks(name)], [asks(name, key)]), []);
  assert.deepEqual(asked([asks('celery.task.sent', key)]), []);
  assert.deepEqual(asked([asks(name, 'something.else')]), []);
  // What switches a metric says nothing of its attributes, and the other way round.
  assert.deepEqual(asked([...switches({ [name]: true })], [asks('*', key)]).includes(optIn), true);
});

test('the origin of each decision is available', () => {
  const chosen = chooseMetrics([
    [...switches({ 'celery.task.*': false }), asks('celery.task.prefetch_time', 'celery.worker.name')],
    [...switches({ 'celery.task.sent': true, 'celery.worker.up': true })],
  ]);
  const of = (metric: MetricName) => chosen.find(({ name }) => name === metric);
  assert.equal(of('celery.task.sent')?.enabledBy, 'of celery.task.*');
  assert.equal(of('celery.worker.up')?.enabledBy, 'of celery.worker.up');
  assert.equal(of('celery.worker.info')?.enabledBy, undefined);
  assert.equal(of('celery.task.prefetch_time')?.optInsBy, 'of celery.task.prefetch_time');
  assert.equal(of('celery.task.sent')?.optInsBy, undefined);
});
