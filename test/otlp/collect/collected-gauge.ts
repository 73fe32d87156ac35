/** A stream of a gauge, and what tests compare of what it collects. */
import { ValueType } from '@opentelemetry/api';
import { createGaugeStream, type GaugeStreamOptions } from '../../../src/otlp/collect/gauge-stream.ts';
import { readTotals, whole } from './reading.ts';

export function gaugeOf(options: Partial<GaugeStreamOptions> = {}) {
  const stream = createGaugeStream({
    descriptor: { name: 'g', description: 'A gauge.', unit: '{worker}', valueType: ValueType.DOUBLE },
    combination: 'max',
    limit: 2000,
    ...options,
  });
  return {
    observe: stream.observe,
    collect: (atMs = 0) => stream.collect(atMs, () => false),
    read: () => readTotals(whole(stream.collect(0, () => false))),
    tally: stream.tally,
  };
}
