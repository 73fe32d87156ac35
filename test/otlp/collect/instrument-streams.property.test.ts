import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Attributes, type Meter, ValueType } from '@opentelemetry/api';
import {
  AggregationTemporality,
  AggregationType,
  createAllowListAttributesProcessor,
  createDenyListAttributesProcessor,
  type InstrumentType,
  MeterProvider,
  type ViewOptions,
} from '@opentelemetry/sdk-metrics';
import type { View } from '../../../src/otlp/collect/view.ts';
import type { StreamSettings } from '../../../src/otlp/otlp-settings.ts';
import { fc } from '../../seed.ts';
import { asExported, type CollectingStreams, collectingStreams } from './collecting-streams.ts';
import { ManualReader } from './reading.ts';
import { temporalityOf } from './sdk-temporality.ts';

const COUNTERS = [
  { name: 'sent', unit: '{task}', description: 'Sent.', valueType: ValueType.INT },
  { name: 'cpu', unit: 's' },
] as const;
const HISTOGRAMS = [
  { name: 'runtime', unit: 's', description: 'Runtime.', boundaries: [0.5, 1, 2, 8] },
  { name: 'tries', valueType: ValueType.INT, boundaries: [Infinity, 3, 1, -Infinity] },
  { name: 'bare', boundaries: [] },
  { name: 'default', boundaries: undefined },
] as const;

const UP_DOWN_COUNTERS = [{ name: 'busy', unit: '{worker}', valueType: ValueType.INT }] as const;

/** Some equal, some similar; one object is reused, the others are created for each measurement. */
const USED_AGAIN: Attributes = Object.freeze({ task: 'a', queue: 'q' });
const attributes = fc.oneof(
  fc.constant(USED_AGAIN),
  fc.constant(undefined),
  fc.constantFrom<Attributes>(
    { task: 'a', queue: 'q' },
    { queue: 'q', task: 'a' },
    { task: 'q', queue: 'a' },
    { task: 'a' },
    { task: 'true' },
    { task: true },
  ),
  fc.record(
    { task: fc.constantFrom('a', 'b', 'c'), queue: fc.constantFrom('q', 'r') },
    { noNullPrototype: true },
  ),
);

/** Eighths add up exactly in whatever order, and are often on a bound. */
const value = fc.oneof(
  fc.nat(100).map((eighths) => eighths / 8),
  fc.integer({ min: -8, max: -1 }),
);

const measurement = fc.record({
  name: fc.constantFrom(...[...COUNTERS, ...UP_DOWN_COUNTERS, ...HISTOGRAMS].map(({ name }) => name)),
  value,
  attributes,
});
const steps = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: measurement },
    { weight: 2, arbitrary: fc.constant('collect' as const) },
    { weight: 2, arbitrary: fc.nat(5000).map((waitMs) => ({ waitMs })) },
  ),
  { minLength: 30, maxLength: 90 },
);

/** The same for the SDK, which applies a limit to a view only if the view has one. */
const VIEWS: readonly { readonly ours: View; readonly theirs: ViewOptions }[] = [
  {
    ours: {
      selector: { instrumentName: 'sent', instrumentKind: 'counter', meterVersion: '1' },
      stream: {
        name: 'tasks',
        description: 'All of them.',
        attributeKeys: { included: ['task', 'no.such'] },
      },
    },
    theirs: {
      ...{ instrumentName: 'sent', meterVersion: '1', name: 'tasks', description: 'All of them.' },
      attributesProcessors: [createAllowListAttributesProcessor(['task', 'no.such'])],
    },
  },
  {
    ours: {
      selector: { instrumentName: 'r*', unit: 's' },
      stream: { attributeKeys: { excluded: ['queue'] } },
    },
    theirs: {
      ...{ instrumentName: 'r*', instrumentUnit: 's' },
      attributesProcessors: [createDenyListAttributesProcessor(['queue'])],
    },
  },
  {
    ours: {
      selector: { instrumentName: 'runtime' },
      stream: {
        name: 'coarse',
        aggregation: { kind: 'explicit_bucket_histogram', boundaries: [1], recordMinMax: true },
        attributeKeys: { included: [] },
      },
    },
    theirs: {
      ...{ instrumentName: 'runtime', name: 'coarse' },
      aggregation: {
        type: AggregationType.EXPLICIT_BUCKET_HISTOGRAM,
        options: { boundaries: [1], recordMinMax: true },
      },
      attributesProcessors: [createAllowListAttributesProcessor([])],
    },
  },
  {
    ours: {
      selector: { instrumentName: 'cpu', meterName: 'shop' },
      stream: { aggregation: { kind: 'drop' } },
    },
    theirs: { instrumentName: 'cpu', meterName: 'shop', aggregation: { type: AggregationType.DROP } },
  },
  {
    ours: { selector: { meterName: 'another' }, stream: { aggregation: { kind: 'drop' } } },
    theirs: { meterName: 'another', aggregation: { type: AggregationType.DROP } },
  },
];

interface Compared {
  readonly preference: StreamSettings['temporality'];
  readonly limit: number;
  readonly views: typeof VIEWS;
}

type Measure = (value: number, attributes: Attributes | undefined) => void;

/** The same instruments twice: those of the SDK alone, and ours. */
class Both {
  readonly #provider: MeterProvider;
  readonly #reader: ManualReader;
  readonly #streams: CollectingStreams;
  readonly #measures: readonly ReadonlyMap<string, Measure>[];

  constructor({ preference, limit, views }: Compared) {
    const selectTemporality = (kind: InstrumentType) => temporalityOf(kind, preference);
    this.#reader = new ManualReader({ selectTemporality, limit });
    this.#provider = new MeterProvider({ readers: [this.#reader], views: views.map(({ theirs }) => theirs) });
    this.#streams = collectingStreams({
      settings: {
        temporality: preference,
        limits: { counter: limit, histogram: limit, gauge: limit },
        views: views.map(({ ours }) => ours),
      },
    });
    const meters = [this.#provider.getMeter('shop', '1'), this.#streams.meter('shop', '1')];
    this.#measures = meters.map((meter) => createAll(meter, limit));
  }

  measure(name: string, ...measured: Parameters<Measure>): void {
    for (const measures of this.#measures) measures.get(name)?.(...measured);
  }

  async assertAlike(): Promise<void> {
    const [expected, found] = await Promise.all([this.#reader.read(), this.#streams.read()]);
    assert.deepEqual(byName(found), byName(expected));
  }

  close(): Promise<void> {
    return this.#provider.shutdown();
  }
}

/**
 * The SDK lists those of views first. With delta temporality, its first interval of a series begins with the first
 * measurement, and ours with the collection before.
 */
function byName(scopes: Parameters<typeof asExported>[0]): readonly object[] {
  return asExported(scopes)
    .map(({ dataPoints, ...metric }) => ({
      ...metric,
      dataPoints: dataPoints.map(({ startTime, ...point }) =>
        metric.aggregationTemporality === AggregationTemporality.DELTA ? point : { startTime, ...point },
      ),
    }))
    .toSorted((one, other) => (one.descriptor.name < other.descriptor.name ? -1 : 1));
}

function createAll(meter: Meter, limit: number): ReadonlyMap<string, Measure> {
  const measures = new Map<string, Measure>();
  // With cumulative temporality, no limit is reached in the SDK: there it holds for one interval only.
  for (const { name, ...options } of limit < 2000 ? [] : UP_DOWN_COUNTERS) {
    const counter = meter.createUpDownCounter(name, options);
    measures.set(name, (amount, of) => counter.add(amount, of));
  }
  for (const { name, ...options } of COUNTERS) {
    const counter = meter.createCounter(name, options);
    measures.set(name, (amount, of) => counter.add(amount, of));
  }
  for (const { name, boundaries, ...options } of HISTOGRAMS) {
    const advice = boundaries === undefined ? {} : { explicitBucketBoundaries: [...boundaries] };
    const histogram = meter.createHistogram(name, { ...options, advice });
    measures.set(name, (measured, of) => histogram.record(measured, of));
  }
  return measures;
}

async function assertAlike(t: TestContext, compared: fc.Arbitrary<Compared>): Promise<void> {
  t.mock.timers.enable({ apis: ['Date'], now: 1_700_000_000_000 });
  await fc.assert(
    fc.asyncProperty(steps, compared, async (chosen, how) => {
      const both = new Both(how);
      for (const step of [...chosen, 'collect' as const]) {
        if (step === 'collect') {
          // Of the SDK what begins in the millisecond in which it is collected has no duration.
          t.mock.timers.tick(1);
          await both.assertAlike();
        } else if ('waitMs' in step) t.mock.timers.tick(step.waitMs);
        else both.measure(step.name, step.value, step.attributes);
      }
      await both.close();
    }),
    { numRuns: 200 },
  );
}

for (const { preference, limit } of [
  // With cumulative temporality the limit would differ from the SDK’s, as above.
  { preference: 'cumulative', limit: 2000 },
  { preference: 'delta', limit: 2000 },
  { preference: 'delta', limit: 4 },
  { preference: 'lowmemory', limit: 2 },
] as const) {
  test(`for any measurements and collections, points equal the SDK’s (${preference}, limit ${limit})`, async (t) => {
    await assertAlike(t, fc.constant({ preference, limit, views: [] }));
  });
}

for (const preference of ['cumulative', 'delta'] as const) {
  test(`for any views, streams equal the SDK’s (${preference})`, async (t) => {
    const views = fc.subarray([...VIEWS]);
    await assertAlike(t, fc.record({ preference: fc.constant(preference), limit: fc.constant(2000), views }));
  });
}
