import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ValueType } from '@opentelemetry/api';
import type { InstrumentationScope } from '@opentelemetry/core';
import { emptyResource } from '@opentelemetry/resources';
import { AggregationTemporality, DataPointType, type ResourceMetrics } from '@opentelemetry/sdk-metrics';
import type { CollectedMetric } from '../../src/otlp/collect/collected-metric.ts';
import type { EndedPoint } from '../../src/otlp/collect/ended-series.ts';
import type { ExportRequest } from '../../src/otlp/export/export-request.ts';
import { metricRequests } from '../../src/otlp/metric-requests.ts';
import { fc } from '../seed.ts';

interface FakeMetric extends CollectedMetric {
  /** Which points have been exported, one by one. */
  readonly settled: readonly number[];
}

/** Of which each point is known by the metric’s name and its number. */
function fakeMetric(name: string, points: number, bytesOf: (point: number) => number = () => 1): FakeMetric {
  const settled: number[] = [];
  return {
    settled,
    pointCount: points,
    bytesOf,
    slice: (from, to) => ({
      descriptor: { name, description: `What ${name} is.`, unit: 's', valueType: ValueType.DOUBLE },
      aggregationTemporality: AggregationTemporality.CUMULATIVE,
      dataPointType: DataPointType.GAUGE,
      dataPoints: Array.from({ length: to - from }, (_, index) => ({
        attributes: { point: from + index },
        startTime: [0, 0],
        endTime: [0, 0],
        value: from + index,
      })),
    }),
    acknowledge(from, to) {
      for (let point = from; point < to; point += 1) settled.push(point);
    },
  };
}

interface FakeScope {
  readonly scope: InstrumentationScope;
  readonly metrics: readonly FakeMetric[];
}

/** Scope, metric and number of each point, in their order. */
function pointsOf({ data }: ExportRequest<ResourceMetrics>): readonly string[] {
  return data().scopeMetrics.flatMap(({ scope, metrics }) =>
    metrics.flatMap(({ descriptor, dataPoints }) =>
      dataPoints.map(({ attributes }) => `${scope.name} ${descriptor.name} ${attributes['point']}`),
    ),
  );
}

const sizes = fc.array(fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 3 }), {
  maxLength: 3,
});

function scopesOf(chosen: readonly (readonly number[])[]): readonly FakeScope[] {
  return chosen.map((metrics, scope) => ({
    scope: { name: `s${scope}`, version: '1' },
    metrics: metrics.map((points, metric) => fakeMetric(`m${metric}`, points)),
  }));
}

test('whatever there is, each point is in one request, in their order, and none has more than was asked for', () => {
  fc.assert(
    fc.property(sizes, fc.integer({ min: 1, max: 10 }), (chosen, pointsMax) => {
      const requests = metricRequests(emptyResource(), scopesOf(chosen), pointsMax);
      const all = chosen.flatMap((metrics, scope) =>
        metrics.flatMap((points, metric) =>
          Array.from({ length: points }, (_, point) => `s${scope} m${metric} ${point}`),
        ),
      );
      assert.deepEqual(requests.flatMap(pointsOf), all);
      for (const request of requests) {
        assert.equal(pointsOf(request).length, request.items);
        assert.ok(request.items > 0 && request.items <= pointsMax);
      }
      assert.equal(requests.length, Math.ceil(all.length / pointsMax), 'and all but the last are full');
    }),
  );
});

test('whatever there is, a request that arrived settles its points and no others', () => {
  fc.assert(
    fc.property(sizes, fc.integer({ min: 1, max: 10 }), fc.nat(), (chosen, pointsMax, which) => {
      const scopes = scopesOf(chosen);
      const requests = metricRequests(emptyResource(), scopes, pointsMax);
      const request = requests[which % Math.max(1, requests.length)];
      request?.acknowledge();
      const settled = scopes.flatMap(({ scope, metrics }) =>
        metrics.flatMap((metric, index) => metric.settled.map((point) => `${scope.name} m${index} ${point}`)),
      );
      assert.deepEqual(settled, request === undefined ? [] : pointsOf(request));
    }),
  );
});

test('whatever there is, the parts of a request have its points in their order, and none more than was asked for', () => {
  fc.assert(
    fc.property(
      sizes,
      fc.integer({ min: 1, max: 30 }),
      fc.integer({ min: 1, max: 10 }),
      (chosen, whole, part) => {
        const scopes = scopesOf(chosen);
        for (const request of metricRequests(emptyResource(), scopes, whole)) {
          const parts = request.parts(part);
          assert.deepEqual(parts.flatMap(pointsOf), pointsOf(request));
          assert.equal(parts.length, Math.ceil(request.items / part));
          for (const { items } of parts) assert.ok(items > 0 && items <= part);
          for (const each of parts) each.acknowledge();
        }
        for (const metric of scopes.flatMap(({ metrics }) => metrics)) {
          assert.deepEqual(
            metric.settled,
            Array.from({ length: metric.pointCount }, (_, point) => point),
          );
        }
      },
    ),
  );
});

test('a request has 1000 points at most, whoever asks for more or for nothing', () => {
  const scopes = [{ scope: { name: 'a' }, metrics: [fakeMetric('m', 2200)] }];
  for (const pointsMax of [undefined, 3000, Infinity])
    assert.deepEqual(
      metricRequests(emptyResource(), scopes, pointsMax).map(({ items }) => items),
      [1000, 1000, 200],
    );
});

const MIB = 1024 * 1024;

test('whatever the points take, a request has less than 4 MiB of them unless one point alone has more', () => {
  const bytes = fc.oneof(fc.integer({ min: 1, max: 1000 }), fc.integer({ min: MIB / 2, max: 5 * MIB }));
  fc.assert(
    fc.property(fc.array(fc.array(bytes, { minLength: 1 }), { maxLength: 3 }), (chosen) => {
      const metrics = chosen.map((each, index) =>
        fakeMetric(`m${index}`, each.length, (point) => each[point] ?? 0),
      );
      const requests = metricRequests(emptyResource(), [{ scope: { name: 's' }, metrics }]);
      for (const request of requests) {
        const taken = request
          .data()
          .scopeMetrics.flatMap((scope) => scope.metrics)
          .flatMap(({ descriptor, dataPoints }) =>
            dataPoints.map(
              ({ attributes }) =>
                chosen[Number(descriptor.name.slice(1))]?.[Number(attributes['point'])] ?? 0,
            ),
          );
        assert.ok(taken.length === 1 || taken.reduce((sum, each) => sum + each, 0) <= 3.5 * MIB);
      }
      assert.equal(requests.flatMap(pointsOf).length, chosen.flat().length);
    }),
  );
});

test('series that have ended are in requests of their own, each in a metric of its own', () => {
  const arrived: string[] = [];
  const endOf = (name: string): EndedPoint => ({
    metric: fakeMetric(name, 1).slice(0, 1),
    bytes: 100,
    arrived: () => arrived.push(name),
  });
  const scopes = [
    { scope: { name: 's0' }, metrics: [fakeMetric('m', 2)], ended: [endOf('a'), endOf('a')] },
    { scope: { name: 's1' }, metrics: [], ended: [endOf('b')] },
  ];
  const [values, ends, ...others] = metricRequests(emptyResource(), scopes);
  assert.ok(values !== undefined && ends !== undefined);
  assert.deepEqual(others, []);
  assert.deepEqual([values.isOptional, values.data().haveEnded], [undefined, undefined]);
  assert.deepEqual([ends.isOptional, ends.data().haveEnded], [true, true]);
  assert.deepEqual(
    ends
      .data()
      .scopeMetrics.map(({ scope, metrics }) => [
        scope.name,
        metrics.map((metric) => metric.dataPoints.length),
      ]),
    [
      ['s0', [1, 1]],
      ['s1', [1]],
    ],
  );
  values.acknowledge();
  assert.deepEqual(arrived, []);
  ends.acknowledge();
  assert.deepEqual(arrived, ['a', 'a', 'b']);
});
