/** Views in a file, checked against the metrics. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { METRICS } from '../../../src/meter/catalog.ts';
import type { View } from '../../../src/otlp/collect/view.ts';
import { VERSION } from '../../../src/self/version.ts';
import { configOf, mistakesOf, withMeterProvider } from '../configuration-files.ts';

/** The first view is on line 6. */
const withViews = (...views: readonly string[]): string =>
  withMeterProvider(
    `  readers: [ { periodic: { exporter: { otlp_grpc: } } } ]\n  views:\n${views.map((view) => `    - ${view}`).join('\n')}`,
  );
const viewsOf = (...views: readonly string[]): readonly View[] =>
  configOf(withViews(...views)).otlp.streams.views;
const wrong = (...views: readonly string[]): readonly string[] => mistakesOf(withViews(...views));

test('all six aggregations are read, with the defaults of the specification', () => {
  const aggregations = viewsOf(
    '{ selector: { instrument_name: celery.task.sent }, stream: { aggregation: { sum: } } }',
    '{ selector: { instrument_name: celery.worker.up }, stream: { aggregation: { last_value: {} } } }',
    '{ selector: { instrument_name: celery.task.received }, stream: { aggregation: { default: } } }',
    '{ selector: { instrument_name: celery.worker.* , unit: s }, stream: { aggregation: { drop: } } }',
    '{ selector: { instrument_name: celery.task.runtime }, stream: { aggregation: { base2_exponential_bucket_histogram: } } }',
    '{ selector: { instrument_name: celery.task.wait_time }, stream: { aggregation: { explicit_bucket_histogram: } } }',
    '{ selector: { instrument_name: celery.task.queue_time }, stream: { aggregation: ' +
      '{ explicit_bucket_histogram: { boundaries: [-1, 0.5, 1e3], record_min_max: false } } } }',
    '{ selector: { instrument_name: celery.task.prefetch_time }, stream: { aggregation: ' +
      '{ base2_exponential_bucket_histogram: { max_scale: -3, max_size: 2, record_min_max: false } } } }',
  ).map(({ stream }) => stream.aggregation);
  assert.deepEqual(aggregations, [
    { kind: 'sum' },
    { kind: 'last_value' },
    { kind: 'default' },
    { kind: 'drop' },
    { kind: 'base2_exponential_bucket_histogram', maxScale: 20, maxSize: 160, recordMinMax: true },
    { kind: 'explicit_bucket_histogram', boundaries: undefined, recordMinMax: true },
    { kind: 'explicit_bucket_histogram', boundaries: [-1, 0.5, 1000], recordMinMax: false },
    { kind: 'base2_exponential_bucket_histogram', maxScale: -3, maxSize: 2, recordMinMax: false },
  ]);
});

test('a view without a criterion is a mistake', () => {
  for (const selector of ['{}', '{ instrument_name: , unit: }']) {
    assert.deepEqual(wrong(`{ selector: ${selector}, stream: {} }`), [
      'meter_provider.views[0].selector (f:6): expected at least one criterion, such as instrument_name ("*" for all metrics)',
    ]);
  }
});

test('a pattern for our metrics that matches none is a mistake, with a suggestion', () => {
  const cases: [name: string, mistake: string][] = [
    [
      'celery.task.snt',
      'expected a metric name, or a pattern that matches one (did you mean celery.task.sent?)',
    ],
    [
      'celery_otel.exprts',
      'expected a metric name, or a pattern that matches one (did you mean celery_otel.exports?)',
    ],
    ['celery.queues.of.all.*', 'expected a metric name, or a pattern that matches one'],
    ['celery', 'expected a metric name, or a pattern that matches one'],
  ];
  for (const [name, mistake] of cases) {
    assert.deepEqual(wrong(`{ selector: { instrument_name: "${name}" }, stream: {} }`), [
      `meter_provider.views[0].selector.instrument_name (f:6): ${mistake}`,
    ]);
  }
});

test('a pattern that may match metrics of the SDK is accepted, and case does not matter', () => {
  viewsOf('{ selector: { instrument_name: otel.sdk.exporter.* }, stream: { aggregation: { drop: } } }');
  viewsOf('{ selector: { instrument_name: otel.sdk.x }, stream: { name: y } }');
  viewsOf('{ selector: { instrument_name: Celery.TASK.sen? }, stream: {} }');
  viewsOf(
    '{ selector: { instrument_name: "*" }, stream: { attribute_keys: { excluded: [celery.worker.name, http.x] } } }',
  );
});

test('a pattern that can match no metric at all is a mistake', () => {
  const at = 'meter_provider.views[0].selector (f:6): expected criteria that all match one metric';
  for (const selector of [
    'instrument_type: gauge',
    'instrument_type: observable_counter',
    'instrument_name: otel.*, instrument_type: observable_up_down_counter',
    'meter_name: celery_otel',
    'meter_name: celery-otel, unit: ms',
    'meter_name: celery-otel, meter_version: "0.0.1"',
  ]) {
    const [mistake, ...more] = wrong(`{ selector: { ${selector} }, stream: {} }`);
    assert.deepEqual(more, []);
    // A pattern by itself fits what is the SDK's; that nothing of the kind is there is all that can be said.
    const expected = selector.includes('otel.*')
      ? 'meter_provider.views[0].selector.instrument_name (f:6)'
      : at;
    assert.ok(mistake?.startsWith(expected), mistake);
  }
  for (const name of ['task.*', 'http.server.*', 'ote', 'otel']) {
    assert.match(
      wrong(`{ selector: { instrument_name: "${name}" }, stream: {} }`).join('\n'),
      /^meter_provider\.views\[0\]\.selector\.instrument_name \(f:6\): expected a metric name/,
    );
  }
});

test('other stream settings together with the aggregation drop are a mistake', () => {
  const at = 'meter_provider.views[0].stream';
  assert.deepEqual(
    wrong(
      '{ selector: { instrument_name: celery.task.sent }, stream: { aggregation: { drop: }, description: d, name: , ' +
        'attribute_keys: { excluded: [celery.task.name] }, aggregation_cardinality_limit: 5 } }',
    ),
    [
      `${at}.description (f:6): expected no other setting with the aggregation drop`,
      `${at}.attribute_keys (f:6): expected no other setting with the aggregation drop`,
      `${at}.aggregation_cardinality_limit (f:6): expected no other setting with the aggregation drop`,
    ],
  );
});

test('criteria that no metric meets are a mistake that names the metric’s own values', () => {
  for (const criterion of [
    'instrument_type: histogram',
    'unit: s',
    'meter_name: other',
    'meter_version: "0.0.1"',
    'instrument_type: observable_counter',
  ]) {
    assert.deepEqual(wrong(`{ selector: { instrument_name: celery.task.sent, ${criterion} }, stream: {} }`), [
      'meter_provider.views[0].selector (f:6): expected criteria that all match one metric; ' +
        `celery.task.sent has instrument_type counter, unit {task}, meter celery-otel, version ${VERSION}`,
    ]);
  }
});

test('an aggregation must fit all selected instruments', () => {
  const fitting = {
    'celery.task.sent': ['default', 'drop', 'sum'],
    'celery.task.runtime': [
      'default',
      'drop',
      'explicit_bucket_histogram',
      'base2_exponential_bucket_histogram',
    ],
    'celery.worker.up': ['default', 'drop', 'last_value'],
  } as const;
  const all = new Set(Object.values(fitting).flat());
  for (const [name, kinds] of Object.entries(fitting)) {
    for (const kind of all) {
      const view = `{ selector: { instrument_name: ${name} }, stream: { aggregation: { ${kind}: } } }`;
      if (kinds.some((fit) => fit === kind)) viewsOf(view);
      else {
        const [mistake, ...more] = wrong(view);
        assert.deepEqual(more, []);
        assert.ok(
          mistake?.startsWith(
            `meter_provider.views[0].stream.aggregation.${kind} (f:6): expected an aggregation that suits all selected metrics; ${name} is a `,
          ),
          mistake,
        );
        assert.ok(mistake?.endsWith(kinds.join(', ')), mistake);
      }
    }
  }
  assert.match(
    wrong(
      '{ selector: { instrument_name: celery.task.* }, stream: { aggregation: { explicit_bucket_histogram: } } }',
    ).join('\n'),
    /celery\.task\.sent is a counter, which allows default, drop, sum$/,
  );
});

test('one of our attributes that no selected metric has is a mistake, with a suggestion', () => {
  const keys = (text: string) =>
    `{ selector: { instrument_name: celery.task.sent }, stream: { attribute_keys: { ${text} } } }`;
  const at = 'meter_provider.views[0].stream.attribute_keys';
  assert.deepEqual(
    wrong(keys('excluded: [celery.tsk.name, celery_otel.service], included: ["celery.task.*", celery.x*]')),
    [
      `${at}.included[1] (f:6): expected an attribute of the selected metrics, or a pattern that matches one`,
      `${at}.excluded[0] (f:6): expected an attribute of the selected metrics, or a pattern that matches one (did you mean celery.task.name?)`,
      `${at}.excluded[1] (f:6): expected an attribute of the selected metrics, or a pattern that matches one`,
    ],
  );
  assert.deepEqual(wrong(keys('excluded: [5]')), [
    `${at}.excluded[0] (f:6) is "5": expected text on one line, at most 255 bytes, in quotes`,
  ]);
  // Of what is certainly ours, every attribute is known; of what may be the SDK's, only those that are called as ours
  // are.
  assert.deepEqual(wrong(keys('included: [worker, error.type]')), [
    `${at}.included[0] (f:6): expected an attribute of the selected metrics, or a pattern that matches one`,
    `${at}.included[1] (f:6): expected an attribute of the selected metrics, or a pattern that matches one`,
  ]);
  // One that it may have only where it is asked for is one of its attributes.
  viewsOf(
    '{ selector: { instrument_name: celery.task.prefetch_time }, stream: { attribute_keys: { excluded: [celery.worker.name] } } }',
  );
});

test('boundaries must ascend and be finite', () => {
  const boundaries = (text: string) =>
    wrong(
      `{ selector: { instrument_name: celery.task.runtime }, stream: { aggregation: { explicit_bucket_histogram: { boundaries: ${text} } } } }`,
    );
  const at = 'meter_provider.views[0].stream.aggregation.explicit_bucket_histogram.boundaries';
  for (const text of ['[1, 1]', '[2, 1]', '[0, 5, 4, 9]']) {
    assert.deepEqual(boundaries(text), [`${at} (f:6): expected numbers in ascending order`]);
  }
  for (const text of ['.inf', '.nan', 'x', 'true']) {
    assert.match(
      boundaries(`[1, ${text}]`).join('\n'),
      /boundaries\[1\] \(f:6\) is .*: expected a finite number/,
    );
  }
  assert.equal(
    viewsOf(
      '{ selector: { instrument_name: celery.task.runtime }, stream: { aggregation: { explicit_bucket_histogram: { boundaries: [] } } } }',
    ).length,
    1,
  );
});

test('sizes and scales must be in the range of the schema', () => {
  for (const setting of [
    'max_size: 1',
    'max_size: 16385',
    'max_scale: 21',
    'max_scale: -11',
    'max_scale: 1.5',
  ]) {
    assert.match(
      wrong(
        `{ selector: { instrument_name: celery.task.runtime }, stream: { aggregation: { base2_exponential_bucket_histogram: { ${setting} } } } }`,
      ).join('\n'),
      /max_s\w+ \(f:6\) is .*: expected a whole number from/,
    );
  }
});

test('a stream name is used once, for one metric', () => {
  const tasks = Object.keys(METRICS).filter((name) => name.startsWith('celery.task.')).length;
  const named = (selector: string, name: string) =>
    `{ selector: { ${selector} }, stream: { name: ${name} } }`;
  const at = 'meter_provider.views[0].stream.name (f:6): expected';
  assert.deepEqual(wrong(named('instrument_name: celery.task.*', 'x')), [
    `${at} a selector that matches one metric, because names must be unique; this one matches ${tasks}`,
  ]);
  assert.deepEqual(wrong(named('instrument_name: otel.*', 'x')), [
    `${at} a selector that matches one metric, because names must be unique; this one matches 0`,
  ]);
  assert.deepEqual(wrong(named('instrument_name: celery.task.sent', 'Celery.Task.Failed')), [
    `${at} unique stream names; Celery.Task.Failed is a metric`,
  ]);
  assert.deepEqual(
    wrong(named('instrument_name: celery.task.sent', 'x'), named('instrument_name: celery.task.failed', 'X')),
    [
      'meter_provider.views[1].stream.name (f:7): expected unique stream names; ' +
        'X also comes from meter_provider.views[0]',
    ],
  );
  for (const name of ['1x', '"a b"', '""', `a${'x'.repeat(255)}`]) {
    assert.match(
      wrong(named('instrument_name: celery.task.sent', name)).join('\n'),
      /stream\.name \(f:6\) is .*: expected a letter/,
    );
  }
});

test('a metric can have two streams only under two names', () => {
  const all =
    '{ selector: { instrument_name: celery.task.* }, stream: { aggregation_cardinality_limit: 5 } }';
  const one = (stream: string) =>
    `{ selector: { instrument_name: celery.task.runtime }, stream: { ${stream} } }`;
  assert.deepEqual(wrong(all, one('')), [
    'meter_provider.views[1].selector (f:7): expected unique stream names; ' +
      'celery.task.runtime also comes from meter_provider.views[0]',
  ]);
  assert.equal(viewsOf(all, one('name: x')).length, 2);
  // What is dropped is no stream, and its name is free.
  assert.equal(viewsOf(all, one('aggregation: { drop: }')).length, 2);
  assert.equal(
    viewsOf(
      one('aggregation: { drop: }'),
      '{ selector: { instrument_name: celery.task.wait_time }, stream: { name: celery.task.runtime } }',
    ).length,
    2,
  );
});
