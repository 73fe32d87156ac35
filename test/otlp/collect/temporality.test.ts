import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AggregationTemporality, InstrumentType } from '@opentelemetry/sdk-metrics';
import { temporalityOf } from '../../../src/otlp/collect/temporality.ts';

/** OTLP metrics exporter specification, "Additional environment variable configuration"; gauges apart. */
const EXPECTED = {
  cumulative: {
    COUNTER: 'C',
    OBSERVABLE_COUNTER: 'C',
    HISTOGRAM: 'C',
    UP_DOWN_COUNTER: 'C',
    OBSERVABLE_UP_DOWN_COUNTER: 'C',
  },
  delta: {
    COUNTER: 'D',
    OBSERVABLE_COUNTER: 'D',
    HISTOGRAM: 'D',
    UP_DOWN_COUNTER: 'C',
    OBSERVABLE_UP_DOWN_COUNTER: 'C',
  },
  lowmemory: {
    COUNTER: 'D',
    OBSERVABLE_COUNTER: 'C',
    HISTOGRAM: 'D',
    UP_DOWN_COUNTER: 'C',
    OBSERVABLE_UP_DOWN_COUNTER: 'C',
  },
} as const;

for (const preference of ['cumulative', 'delta', 'lowmemory'] as const) {
  test(`the preference ${preference} follows the specification, and gauges never outlive their series`, () => {
    const found = Object.values(InstrumentType).map((kind) => [
      kind,
      temporalityOf(kind, preference) === AggregationTemporality.DELTA ? 'D' : 'C',
    ]);
    assert.deepEqual(Object.fromEntries(found), {
      ...EXPECTED[preference],
      GAUGE: 'D',
      OBSERVABLE_GAUGE: 'D',
    });
  });
}
