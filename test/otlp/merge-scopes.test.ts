import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ValueType } from '@opentelemetry/api';
import type { InstrumentationScope } from '@opentelemetry/core';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  DataPointType,
  type MetricData,
  type ScopeMetrics,
} from '@opentelemetry/sdk-metrics';
import { mergeScopes } from '../../src/otlp/merge-scopes.ts';

const metric = (name: string): MetricData => ({
  descriptor: { name, description: '', unit: '', valueType: ValueType.INT },
  aggregationTemporality: AggregationTemporality.DELTA,
  dataPointType: DataPointType.GAUGE,
  dataPoints: [],
});

const scoped = (scope: InstrumentationScope, ...names: string[]): ScopeMetrics => ({
  scope,
  metrics: names.map(metric),
});

const resource = resourceFromAttributes({ 'service.name': 'shop' });
const merged = (...scopeMetrics: ScopeMetrics[]) =>
  mergeScopes({ resource, scopeMetrics }).scopeMetrics.map(({ scope, metrics }) => [
    scope.name,
    metrics.map(({ descriptor }) => descriptor.name),
  ]);

test('metrics of one scope come together in their order, and the resource stays', () => {
  const before = [
    scoped({ name: 'a', version: '1' }, 'one', 'two'),
    scoped({ name: 'b', version: '1' }, 'three'),
    scoped({ name: 'a', version: '1' }, 'four'),
  ];
  assert.deepEqual(merged(...before), [
    ['a', ['one', 'two', 'four']],
    ['b', ['three']],
  ]);
  assert.equal(mergeScopes({ resource, scopeMetrics: before }).resource, resource);
  assert.equal(before[0]?.metrics.length, 2, 'what was given is not changed');
});

test('a version or a schema of its own makes another scope; none is the same as an empty one', () => {
  assert.deepEqual(
    merged(
      scoped({ name: 'a', version: '1' }, 'one'),
      scoped({ name: 'a', version: '2' }, 'two'),
      scoped({ name: 'a', version: '1', schemaUrl: 'https://example.com' }, 'three'),
      scoped({ name: 'a' }, 'four'),
      scoped({ name: 'a', version: '' }, 'five'),
    ),
    [
      ['a', ['one']],
      ['a', ['two']],
      ['a', ['three']],
      ['a', ['four', 'five']],
    ],
  );
});
