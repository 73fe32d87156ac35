import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseMetrics, metricList } from '../../src/config/metric-list.ts';
import { METRIC_NAMES, METRICS, type MetricName } from '../../src/meter/catalog.ts';

const workers = METRIC_NAMES.filter((name) => name.startsWith('celery.worker.'));
const without = (...names: readonly MetricName[]) =>
  new Set(METRIC_NAMES.filter((name) => !names.includes(name)));

const allOn = () => true;
const allOff = () => false;

test('each metric is as its row says unless a list says otherwise', () => {
  const byDefault = METRIC_NAMES.filter((name) => METRICS[name].enabled);
  assert.deepEqual(chooseMetrics({ disabled: [], enabled: [] }), new Set(byDefault));
  const sent = (name: MetricName) => name === 'celery.task.sent';
  assert.deepEqual(chooseMetrics({ disabled: [], enabled: [] }, sent), new Set(['celery.task.sent']));
});

test('every metric can be switched off, and on, by its name alone', () => {
  for (const name of METRIC_NAMES) {
    assert.deepEqual(chooseMetrics({ disabled: [name], enabled: [] }, allOn), without(name));
    assert.deepEqual(chooseMetrics({ disabled: [], enabled: [name] }, allOff), new Set([name]));
  }
});

test('a * at the end stands for anything', () => {
  assert.ok(workers.length > 1 && workers.length < METRIC_NAMES.length);
  assert.deepEqual(chooseMetrics({ disabled: ['celery.worker.*'], enabled: [] }, allOn), without(...workers));
  assert.deepEqual(chooseMetrics({ disabled: [], enabled: ['celery.worker.*'] }, allOff), new Set(workers));
  assert.deepEqual(chooseMetrics({ disabled: ['*'], enabled: [] }, allOn), new Set());
});

test('of two entries that fit a name, the closer one counts, whichever list it is in', () => {
  const choose = (disabled: string[], enabled: string[]) => chooseMetrics({ disabled, enabled }, allOn);
  assert.deepEqual(choose(['*'], ['celery.worker.*']), new Set(workers));
  assert.deepEqual(choose(['celery.worker.up'], ['celery.worker.*']), without('celery.worker.up'));
  assert.deepEqual(choose(['celery.task.sent'], ['celery.task.sent*']), without('celery.task.sent'));
  assert.deepEqual(
    choose(['*', 'celery.worker.up'], ['celery.worker.*']),
    new Set(workers.filter((name) => name !== 'celery.worker.up')),
  );
});

test('all entries that fit no metric are named, with what was probably meant', () => {
  const reading = metricList.read('celery.task.snt,celery.queues.*,celery.worker.up,\u001b[2J');
  assert.deepEqual(reading, {
    ok: false,
    expected:
      `${metricList.expects}: "celery.task.snt" is none (did you mean celery.task.sent?); ` +
      '"celery.queues.*" fits none; "\\u001b[2J" is none',
  });
});
