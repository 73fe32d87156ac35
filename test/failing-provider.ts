/** A real provider, or anything else that a program attaches, in which one method fails. */
import type { MeterProvider } from '@opentelemetry/api';

/** What may fail: a method of a provider, of a meter or of an instrument. */
export const FAILURES = [
  'getMeter',
  'createCounter',
  'createHistogram',
  'createObservableGauge',
  'addBatchObservableCallback',
  'removeBatchObservableCallback',
  'add',
  'record',
] as const;

export type Failure = (typeof FAILURES)[number];

export function failingProvider(provider: MeterProvider, failure: Failure): MeterProvider {
  return failing(provider, failure);
}

export function failing<T extends object>(target: T, failure: string): T {
  return new Proxy(target, {
    get(_, key): unknown {
      const value: unknown = Reflect.get(target, key);
      if (typeof value !== 'function') return value;
      return (...args: readonly unknown[]): unknown => {
        if (key === failure) throw new Error(`no ${failure} today`);
        const result: unknown = Reflect.apply(value, target, args);
        return typeof result === 'object' && result !== null ? failing(result, failure) : result;
      };
    },
  });
}
