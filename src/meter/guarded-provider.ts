/**
 * Guards against an embedding program’s provider that throws, which the API forbids (OpenTelemetry specification, "Error
 * handling in OpenTelemetry"): it reports the error, and only that measurement is lost.
 */
import { createNoopMeter, type Meter, type MeterProvider } from '@opentelemetry/api';

type Attempt = <T>(action: () => T, fallback: T) => T;

export function guardedProvider(
  provider: MeterProvider,
  onFailure: (reason: unknown) => void,
): MeterProvider {
  function attempt<T>(action: () => T, fallback: T): T {
    try {
      return action();
    } catch (reason) {
      onFailure(reason);
      return fallback;
    }
  }
  return {
    getMeter(name, version, options) {
      const meter = attempt(() => provider.getMeter(name, version, options), NOOP);
      return guardedMeter(meter, attempt);
    },
  };
}

const NOOP = createNoopMeter();

function guardedMeter(meter: Meter, attempt: Attempt): Meter {
  const adding = (made: { add(value: number, ...more: unknown[]): void }) => ({
    add: (...measurement: Parameters<typeof made.add>) => attempt(() => made.add(...measurement), undefined),
  });
  const recording = (made: { record(value: number, ...more: unknown[]): void }) => ({
    record: (...measurement: Parameters<typeof made.record>) =>
      attempt(() => made.record(...measurement), undefined),
  });
  return {
    createCounter: (name, options) =>
      adding(attempt(() => meter.createCounter(name, options), NOOP.createCounter(name))),
    createUpDownCounter: (name, options) =>
      adding(attempt(() => meter.createUpDownCounter(name, options), NOOP.createUpDownCounter(name))),
    createHistogram: (name, options) =>
      recording(attempt(() => meter.createHistogram(name, options), NOOP.createHistogram(name))),
    // Observables are not wrapped, because the meter expects to get back the object that it made.
    createObservableGauge: (name, options) =>
      attempt(() => meter.createObservableGauge(name, options), NOOP.createObservableGauge(name)),
    addBatchObservableCallback: (callback, observables) =>
      attempt(() => meter.addBatchObservableCallback(callback, observables), undefined),
    removeBatchObservableCallback: (callback, observables) =>
      attempt(() => meter.removeBatchObservableCallback(callback, observables), undefined),
    // Neither the catalog nor the SDK’s exporter metrics use these.
    createGauge: NOOP.createGauge,
    createObservableCounter: NOOP.createObservableCounter,
    createObservableUpDownCounter: NOOP.createObservableUpDownCounter,
  };
}
