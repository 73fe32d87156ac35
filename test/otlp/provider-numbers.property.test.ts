/** Whatever numbers are measured and whichever exports fail, each exported point is valid for its type. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Attributes, ValueType } from '@opentelemetry/api';
import type { ResourceMetrics } from '@opentelemetry/sdk-metrics';
import { decodePoints } from '../../examples/demo/otlp-points.ts';
import type { Observer } from '../../src/otlp/collect/observable-callbacks.ts';
import { createProvider } from '../../src/otlp/provider.ts';
import { serviceResource } from '../../src/otlp/resource.ts';
import { fc } from '../seed.ts';
import { observed } from './collect/observed.ts';
import { serialised } from './export/serialised.ts';
import { otlpSettings } from './settings.ts';

const number = fc.oneof(
  fc.double(),
  fc.integer(),
  fc.constantFrom(
    ...[NaN, Infinity, -Infinity, 0, -0, 1, -1, 0.5, 1e20, 1e21, -1e21, 1.7e308, -1.7e308],
    ...[2 ** 31, 2 ** 32, 2 ** 53 - 1, 2 ** 53, -(2 ** 53), 2 ** 62, 2 ** 63, 2 ** 64],
    ...[Number.MAX_VALUE, -Number.MAX_VALUE, Number.MIN_VALUE, -Number.MIN_VALUE],
  ),
);
const INSTRUMENTS = ['counter', 'up-down', 'histogram', 'exponential', 'gauge'] as const;
const measurement = fc.record({
  instrument: fc.constantFrom(...INSTRUMENTS),
  valueType: fc.constantFrom(ValueType.INT, ValueType.DOUBLE),
  worker: fc.nat(3),
  isBound: fc.boolean(),
  value: number,
});
const steps = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: measurement },
    { weight: 1, arbitrary: fc.record({ setMs: fc.integer({ min: -5000, max: 5000 }) }) },
    {
      weight: 2,
      arbitrary: fc.record({ arrives: fc.boolean(), meanwhile: fc.array(measurement, { maxLength: 3 }) }),
    },
  ),
  { minLength: 10, maxLength: 60 },
);
type Measurement = typeof measurement extends fc.Arbitrary<infer M> ? M : never;

const typeName = (valueType: ValueType) => (valueType === ValueType.INT ? 'int' : 'double');

function instrumentsOf(temporality: 'cumulative' | 'delta', clock: { nowMs: number }) {
  const provider = createProvider({
    name: 'shop',
    resource: serviceResource('shop', {}),
    settings: otlpSettings('', {
      streams: {
        temporality,
        limits: { counter: 3, histogram: 3, gauge: 3 },
        views: [
          {
            selector: { instrumentName: 'exponential *' },
            stream: {
              aggregation: {
                kind: 'base2_exponential_bucket_histogram',
                ...{ maxScale: 20, maxSize: 20, recordMinMax: true },
              },
            },
          },
        ],
      },
    }).streams,
    combination: () => 'sum',
    onFailure: assert.ifError,
    nowMs: () => clock.nowMs,
    yieldToLoop: async () => {},
  });
  const meter = provider.getMeter('celery-otel');
  const measures = new Map<string, (each: Measurement, attributes: Attributes) => void>();
  for (const valueType of [ValueType.INT, ValueType.DOUBLE]) {
    const type = typeName(valueType);
    const counter = meter.createCounter(`counter ${type}`, { valueType });
    const upDown = meter.createUpDownCounter(`up-down ${type}`, { valueType });
    measures.set(`counter ${type}`, ({ isBound, value }, attributes) =>
      isBound ? counter.bind(attributes).add(value) : counter.add(value, attributes),
    );
    measures.set(`up-down ${type}`, ({ value }, attributes) => upDown.add(value, attributes));
    for (const kind of ['histogram', 'exponential']) {
      const histogram = meter.createHistogram(`${kind} ${type}`, { valueType });
      measures.set(`${kind} ${type}`, ({ isBound, value }, attributes) =>
        isBound ? histogram.bind(attributes).record(value) : histogram.record(value, attributes),
      );
    }
    let observations: (readonly [number, Attributes])[] = [];
    measures.set(`gauge ${type}`, ({ value }, attributes) => observations.push([value, attributes]));
    const observeAll = (observe: Observer['observe']) => {
      for (const [value, attributes] of observations) observe(value, attributes);
      observations = [];
    };
    observed(meter, `gauge ${type}`, observeAll, { valueType });
  }
  return {
    provider,
    measure: (each: Measurement) =>
      measures.get(`${each.instrument} ${typeName(each.valueType)}`)?.(each, { worker: `w${each.worker}` }),
  };
}

/** The values of these JSON keys are non-negative integers. */
const COUNTS = ['count', 'zeroCount', 'bucketCounts'];
const DIGITS = /^-?\d+$/;

/** Every number of the text, as it is written, with its key; a list has that of its own. */
function checkJson(text: string): void {
  assert.ok(!/null|NaN|Infinity/.test(text), text);
  for (const [, key = '', value = ''] of text.matchAll(
    /"(\w+)":(-?[\d.][\d.e+-]*|"-?\d+"|\[[-\d.e+,]*\])/g,
  )) {
    for (const each of value
      .replaceAll(/["[\]]/g, '')
      .split(',')
      .filter((one) => one !== '')) {
      assert.ok(Number.isFinite(Number(each)), `${key} ${each}`);
      if (key === 'asInt' || COUNTS.includes(key)) {
        assert.match(each, DIGITS, key);
        assert.ok(Number.isSafeInteger(Number(each)), `${key} ${each}`);
      }
      if (COUNTS.includes(key)) assert.ok(Number(each) >= 0, `${key} ${each}`);
    }
  }
}

function checkProtobuf(metrics: ResourceMetrics): void {
  const sent = metrics.scopeMetrics.flatMap((scope) =>
    scope.metrics.flatMap((metric) => metric.dataPoints.map(({ value }) => value)),
  );
  const received = decodePoints(serialised(metrics, 'protobuf'));
  assert.equal(received.length, sent.length);
  for (const [index, point] of received.entries()) {
    const name = `${point.metric} ${JSON.stringify(point)}`;
    assert.ok(Number.isFinite(point.value) && Number.isFinite(point.sum), name);
    assert.ok(point.startMs < point.timeMs, name);
    if (point.metric.endsWith('int')) assert.ok(Number.isSafeInteger(point.value), name);
    if (!/^(up-down|gauge)/.test(point.metric)) assert.ok(point.value >= 0 && point.sum >= 0, name);
    const value = sent[index];
    // 0 and -0 are the same number.
    assert.ok(point.value === (typeof value === 'number' ? value : value?.count), `wrapped: ${name}`);
    if (point.kind !== 'histogram') continue;
    assert.equal(
      point.bucketCounts.reduce((sum, count) => sum + count, 0),
      point.value,
      name,
    );
  }
}

for (const temporality of ['cumulative', 'delta'] as const) {
  test(`for any measurements, each point is in the range of its type, in both encodings (${temporality})`, async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (chosen) => {
        const clock = { nowMs: 1_700_000_000_000 };
        const { provider, measure } = instrumentsOf(temporality, clock);
        async function exportAll(arrives: boolean, meanwhile: readonly Measurement[]): Promise<void> {
          const requests = await provider.collect();
          meanwhile.forEach(measure);
          for (const request of requests) {
            checkProtobuf(request.data());
            checkJson(new TextDecoder().decode(serialised(request.data(), 'json')));
            if (arrives) request.acknowledge();
          }
        }
        for (const step of chosen) {
          if ('setMs' in step) clock.nowMs += step.setMs;
          else if ('arrives' in step) await exportAll(step.arrives, step.meanwhile);
          else measure(step);
        }
        await exportAll(true, []);
        await exportAll(true, []);
      }),
      { numRuns: 300 },
    );
  });
}

test('refused values are reported, and later ones still count', async () => {
  const clock = { nowMs: 1_700_000_000_000 };
  const { provider, measure } = instrumentsOf('cumulative', clock);
  const each = { instrument: 'counter', valueType: ValueType.INT, worker: 1, isBound: true } as const;
  for (const value of [1e20, 2 ** 53 - 2, 5, 1, Infinity]) measure({ ...each, value });
  for (const value of [1.7e308, 1.7e308, 2]) {
    measure({ ...each, instrument: 'histogram', valueType: ValueType.DOUBLE, value });
  }
  const points = (await provider.collect()).flatMap((request) =>
    decodePoints(serialised(request.data(), 'protobuf')),
  );
  assert.deepEqual(
    points.map(({ metric, value, sum }) => [metric, value, sum]),
    [
      ['counter int', 2 ** 53 - 1, 0],
      ['histogram double', 2, 1.7e308],
    ],
  );
  assert.equal(provider.tally().refused, 4);
});
