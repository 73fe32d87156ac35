/** A gauge with a callback that observes it alone: in our meters, there are only batch callbacks. */
import type { Meter } from '@opentelemetry/api';
import type { Observer } from '../../../src/otlp/collect/observable-callbacks.ts';

/** @returns removes the callback */
export function observed(
  meter: Meter,
  name: string,
  callback: (observe: Observer['observe']) => Promise<void> | void,
  options = {},
): () => void {
  const gauge = meter.createObservableGauge(name, options);
  const batch: Parameters<Meter['addBatchObservableCallback']>[0] = (result) =>
    callback((value, attributes) => result.observe(gauge, value, attributes));
  meter.addBatchObservableCallback(batch, [gauge]);
  return () => meter.removeBatchObservableCallback(batch, [gauge]);
}
