import assert from 'node:assert/strict';
import { test } from 'node:test';
import { METRIC_NAMES, METRICS } from '../../../src/meter/catalog.ts';
import { configOf, mistakesOf, withCelery } from '../configuration-files.ts';

const OPT_IN = 'celery.task.prefetch_time/celery.worker.name';
const byDefault = METRIC_NAMES.filter((name) => METRICS[name].enabled);

test('metrics are enabled for all services or for one, and the service’s most specific entry wins', () => {
  const [shop, billing] = configOf(
    withCelery(`  metrics:
    celery.worker.load: { enabled: true }
    celery.task.*: { enabled: false }
    celery.task.prefetch_time: { attributes: [celery.worker.name] }
  services:
    shop:
      broker_url: amqp://a
      metrics:
        "*": { enabled: true }
        celery.worker.load: { enabled: false }
        celery.task.*: { attributes: [] }
    billing: { broker_url: "amqp://b" }`),
  ).services;
  assert.deepEqual(
    shop.choice.metrics,
    new Set(METRIC_NAMES.filter((name) => name !== 'celery.worker.load')),
  );
  assert.deepEqual(shop.choice.optIns, new Set());
  assert.deepEqual(
    billing?.choice.metrics,
    new Set([...byDefault, 'celery.worker.load'].filter((name) => !name.startsWith('celery.task.'))),
  );
  assert.deepEqual(billing?.choice.optIns, new Set([OPT_IN]));
});

test('invalid settings of metrics are mistakes by their paths', () => {
  const cases: [entry: string, mistake: RegExp][] = [
    [
      'celery.task.snt: { enabled: true }',
      /\["celery\.task\.snt"\] \(f:5\): .*this one is unknown \(did you mean celery\.task\.sent\?\)/,
    ],
    ['celery.queues.*: { enabled: true }', /\["celery\.queues\.\*"\] \(f:5\): .*this one matches no metric/],
    ['celery_otel.up: { enabled: false }', /celery_otel\.up"\] \(f:5\): expected a metric name/],
    ['"*.sent": { enabled: true }', /\["\*\.sent"\] \(f:5\): expected a metric name/],
    ['celery.task.sent: true', /\["celery\.task\.sent"\] \(f:5\): expected a map of enabled and attributes/],
    [
      'celery.task.sent: { enable: true }',
      /\.enable \(f:5\): expected a known key \(did you mean enabled\?\)/,
    ],
    ['celery.task.sent: { enabled: 1 }', /\.enabled \(f:5\) is "1": expected true or false/],
    ['celery.task.sent: { attributes: x }', /\.attributes \(f:5\): expected a list of attributes/],
    [
      'celery.task.sent: { attributes: [celery.worker.name] }',
      /\.attributes\[0\] \(f:5\) is "celery\.worker\.name": expected no attribute: there are no opt-in/,
    ],
    [
      'celery.task.prefetch_time: { attributes: [celery.task.name] }',
      /attributes\[0\] \(f:5\) is "celery\.task\.name": expected one of celery\.worker\.name/,
    ],
    [
      'celery.task.*: { attributes: [celery.worker.nme] }',
      /attributes\[0\] \(f:5\) is .* expected one of celery\.worker\.name \(did you mean celery\.worker\.name\?\)/,
    ],
  ];
  for (const [entry, mistake] of cases) {
    const text = withCelery(`  metrics:\n    ${entry}\n  services: { shop: { broker_url: "amqp://a" } }`);
    const mistakes = mistakesOf(text);
    assert.equal(mistakes.length, 1, mistakes.join('\n'));
    assert.match(mistakes[0] ?? '', mistake);
    const own = mistakesOf(
      withCelery(`  services:\n    shop: { broker_url: "amqp://a", metrics: { ${entry} } }`),
    ).join('\n');
    assert.match(own, /^celery\.services\.shop\.metrics\["/);
  }
});
