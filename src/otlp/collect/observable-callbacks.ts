/** Calls the callbacks of observable gauges at each collection. It does not keep their observations. */
import type { Attributes, BatchObservableCallback, Observable, ObservableGauge } from '@opentelemetry/api';
import type { AgedObservableResult, HasEnded } from '../../meter/bindable.ts';

export interface Observer {
  observe(value: number, attributes?: Attributes, ageMs?: number): void;
  end(hasEnded: HasEnded): void;
}

export class ObservableCallbacks {
  /** The observer of each observable. */
  readonly #observers = new WeakMap<Observable, Observer>();
  readonly #callbacks = new Set<BatchObservableCallback>();

  /** Creates an observable whose observations go to the observer. It supports batch callbacks only. */
  observable(observer: Observer): ObservableGauge {
    const made: ObservableGauge = { addCallback: () => {}, removeCallback: () => {} };
    this.#observers.set(made, observer);
    return made;
  }

  add(callback: BatchObservableCallback): void {
    this.#callbacks.add(callback);
  }

  remove(callback: BatchObservableCallback): void {
    this.#callbacks.delete(callback);
  }

  /** Calls all callbacks, even if one throws. @returns the failures */
  async callAll(): Promise<readonly unknown[]> {
    const result: AgedObservableResult = {
      observe: (observable, value, attributes, ageMs) =>
        this.#observers.get(observable)?.observe(value, attributes, ageMs),
      end: (observable, hasEnded) => this.#observers.get(observable)?.end(hasEnded),
    };
    const calls = Array.from(this.#callbacks, async (callback) => callback(result));
    const outcomes = await Promise.allSettled(calls);
    return outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
  }
}
