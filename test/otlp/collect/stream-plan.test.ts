import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type InstrumentRequest, openHistogram, streamPlans } from '../../../src/otlp/collect/stream-plan.ts';
import type {
  AggregationChoice,
  AttributeKeyChoice,
  InstrumentKind,
  View,
  ViewSelector,
  ViewStream,
} from '../../../src/otlp/collect/view.ts';
import type { StreamSettings } from '../../../src/otlp/otlp-settings.ts';
import { otlpSettings } from '../settings.ts';

const RUNTIME: InstrumentRequest = {
  kind: 'histogram',
  name: 'celery.task.runtime',
  options: { description: 'How long a task ran.', unit: 's' },
};
const SCOPE = { name: 'celery-otel', version: '1.2.3', schemaUrl: 'https://example.com/1' };

const plansOf = (settings: StreamSettings, asked = RUNTIME) => streamPlans(asked, SCOPE, settings);

const view = (stream: ViewStream, selector: ViewSelector = { instrumentName: '*' }): View => ({
  selector,
  stream,
});
const settingsOf = (...views: readonly View[]): StreamSettings =>
  otlpSettings('', { streams: { views, limits: { counter: 11, histogram: 12, gauge: 13 } } }).streams;

const SELECTS: readonly ViewSelector[] = [
  { instrumentName: 'celery.task.runtime' },
  { instrumentName: 'Celery.Task.RUNTIME' },
  { instrumentName: '*' },
  { instrumentName: 'celery.*' },
  { instrumentName: 'CELERY.*.run?ime' },
  { instrumentKind: 'histogram' },
  { unit: 's' },
  { meterName: 'celery-otel' },
  { meterVersion: '1.2.3' },
  { meterSchemaUrl: 'https://example.com/1' },
];

const SELECTS_NOT: readonly ViewSelector[] = [
  { instrumentName: 'celery.task' },
  { instrumentName: 'celery.task.runtim' },
  { instrumentName: 'celery?task.runtime.?' },
  { instrumentName: 'celery_task_runtime' },
  { instrumentKind: 'counter' },
  { unit: 'ms' },
  { unit: '' },
  { unit: 'S' },
  { meterName: 'celery' },
  { meterName: 'celery-*' },
  { meterVersion: '1.2' },
  { meterSchemaUrl: 'https://example.com/' },
  { instrumentName: '*', unit: 'ms' },
  { instrumentName: 'celery.task.runtime', instrumentKind: 'histogram', meterVersion: '2' },
];

for (const selector of SELECTS) {
  test(`a view selects the instrument by ${JSON.stringify(selector)}`, () => {
    assert.equal(plansOf(settingsOf(view({ name: 'seen' }, selector)))[0]?.descriptor.name, 'seen');
  });
}

for (const selector of SELECTS_NOT) {
  test(`a view does not select the instrument by ${JSON.stringify(selector)}`, () => {
    const plans = plansOf(settingsOf(view({ name: 'seen' }, selector)));
    assert.deepEqual(
      plans.map(({ descriptor }) => descriptor.name),
      ['celery.task.runtime'],
    );
  });
}

const KINDS: readonly (readonly [InstrumentRequest['kind'], keyof StreamSettings['limits']])[] = [
  ['counter', 'counter'],
  ['histogram', 'histogram'],
  ['observable_gauge', 'gauge'],
  ['up_down_counter', 'counter'],
];

const ALL_KINDS: readonly InstrumentKind[] = [
  ...KINDS.map(([kind]) => kind),
  ...(['gauge', 'observable_counter', 'observable_up_down_counter'] as const),
];

for (const [kind, limit] of KINDS) {
  const asked = { ...RUNTIME, kind };

  test(`the instrument type ${kind} selects its own instruments only`, () => {
    const found = ALL_KINDS.filter((instrumentKind) => {
      const settings = settingsOf(view({ name: 'seen' }, { instrumentKind }));
      return plansOf(settings, asked)[0]?.descriptor.name === 'seen';
    });
    assert.deepEqual(found, [kind]);
  });

  test(`the instrument type ${kind} has the limit of its view, else the reader’s for a ${limit}`, () => {
    const limitWith = (...views: readonly View[]) => plansOf(settingsOf(...views), asked)[0]?.limit;
    const { limits } = settingsOf();
    assert.equal(limitWith(), limits[limit]);
    assert.equal(limitWith(view({ description: 'Without one.' })), limits[limit]);
    assert.equal(limitWith(view({ cardinalityLimit: 5 })), 5);
  });
}

test('each matching view makes one stream, in order, unless it drops the instrument', () => {
  const plans = plansOf(
    settingsOf(
      view({ name: 'first', description: 'The first one.' }),
      view({ name: 'unseen' }, { unit: 'ms' }),
      view({ name: 'dropped', aggregation: { kind: 'drop' } }),
      view({ cardinalityLimit: 7 }),
    ),
  );
  assert.deepEqual(
    plans.map(({ descriptor: { name, description }, limit }) => [name, description, limit]),
    [
      ['first', 'The first one.', 12],
      ['celery.task.runtime', 'How long a task ran.', 7],
    ],
  );
});

const KEYS = ['celery.task.name', 'celery.queue.name', 'celery.worker.name', 'error.type'];
const KEPT: readonly (readonly [AttributeKeyChoice, readonly string[]])[] = [
  [{}, KEYS],
  [{ included: ['celery.task.name'] }, ['celery.task.name']],
  [{ included: ['celery.*'] }, KEYS.slice(0, 3)],
  [{ included: ['celery.????.name', 'error.type', 'no.such'] }, ['celery.task.name', 'error.type']],
  [{ included: [] }, []],
  [{ excluded: ['celery.worker.name'] }, KEYS.toSpliced(2, 1)],
  [{ excluded: ['*.name'] }, ['error.type']],
  [{ excluded: ['*'] }, []],
  [{ excluded: [] }, KEYS],
  [{ included: ['*'], excluded: ['celery.*'] }, ['error.type']],
  [{ included: ['celery.task.name'], excluded: ['celery.task.name'] }, []],
  [{ excluded: ['CELERY.*'] }, KEYS],
];

for (const [attributeKeys, expected] of KEPT) {
  test(`attribute_keys ${JSON.stringify(attributeKeys)} keep the right attributes`, () => {
    const keeps = plansOf(settingsOf(view({ attributeKeys })))[0]?.keeps;
    assert.deepEqual(
      KEYS.filter((key) => keeps?.(key)),
      expected,
    );
  });
}

const explicit = (...boundaries: readonly number[]): AggregationChoice => ({
  ...{ kind: 'explicit_bucket_histogram', boundaries, recordMinMax: true },
});
const exponential: AggregationChoice = {
  ...{ kind: 'base2_exponential_bucket_histogram', maxScale: 3, maxSize: 7, recordMinMax: true },
};

/** What is chosen, what the instrument advises, and what is made of a measurement of 3, by either default. */
const HISTOGRAMS: readonly (readonly [AggregationChoice, readonly number[], object, object])[] = [
  [{ kind: 'default' }, [1, 2], { boundaries: [1, 2] }, { scale: 20 }],
  [explicit(3, 4), [1, 2], { boundaries: [3, 4] }, { boundaries: [3, 4] }],
  [explicit(), [1, 2], { boundaries: [] }, { boundaries: [] }],
  [exponential, [1, 2], { scale: 3 }, { scale: 3 }],
  // What makes no sense of a histogram leaves what it would be.
  [{ kind: 'sum' }, [1, 2], { boundaries: [1, 2] }, { scale: 20 }],
  [{ kind: 'last_value' }, [1, 2], { boundaries: [1, 2] }, { scale: 20 }],
];

function histogramOf(
  choice: AggregationChoice,
  advised: readonly number[] | undefined,
  byDefault: StreamSettings['histograms'],
): unknown {
  return openHistogram(choice, advised, byDefault, (aggregation) => {
    const accumulation = aggregation.begin();
    accumulation.measure(3);
    return accumulation.value();
  });
}

function said(value: unknown): object {
  assert.ok(typeof value === 'object' && value !== null);
  if ('scale' in value) return { scale: value.scale };
  assert.ok('buckets' in value && typeof value.buckets === 'object' && value.buckets !== null);
  assert.ok('boundaries' in value.buckets);
  return { boundaries: value.buckets.boundaries };
}

for (const [choice, advised, explicitly, exponentially] of HISTOGRAMS) {
  test(`a histogram of ${JSON.stringify(choice)} with the advice ${JSON.stringify(advised)} has the right buckets`, () => {
    assert.deepEqual(said(histogramOf(choice, advised, 'explicit_bucket_histogram')), explicitly);
    assert.deepEqual(said(histogramOf(choice, advised, 'base2_exponential_bucket_histogram')), exponentially);
  });
}

for (const recordMinMax of [true, false]) {
  test(`a view’s recordMinMax ${recordMinMax} applies to explicit and exponential buckets`, () => {
    for (const choice of [
      { kind: 'explicit_bucket_histogram', boundaries: undefined, recordMinMax },
      { kind: 'base2_exponential_bucket_histogram', maxScale: 20, maxSize: 160, recordMinMax },
    ] satisfies readonly AggregationChoice[]) {
      const value = histogramOf(choice, undefined, 'explicit_bucket_histogram');
      assert.ok(typeof value === 'object' && value !== null);
      assert.equal('min' in value && 'max' in value, recordMinMax);
    }
  });
}
