/**
 * The callbacks of observable gauges, which are called at each collection. Their observations are not kept here.
 */
import type { Attributes, BatchObservableCallback, Observable, ObservableGauge } from '@opentelemetry/api';
import type { AgedObservableResult, HasEnded } from '../../meter/bindable.ts';

export interface Observer {
  observe(value: number, attributes?: Attributes, ageMs?: number): void;
  end(hasEnded: HasEnded): void;
}

export class ObservableCallbacks {
  /** Where the observations of each observable go. */
  readonly #observers = new WeakMap<Observable, Observer>();
  readonly #callbacks = new Set<BatchObservableCallback>();

  /** Creates an observable whose observations go to the observer. Only batch callbacks observe it. */
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

  /** Calls all of them, even if one throws. @returns the failures */
  async ask(): Promise<readonly unknown[]> {
    const result: AgedObservableResult = {
      observe: (observable, value, attributes, ageMs) =>
        this.#observers.get(observable)?.observe(value, attributes, ageMs),
      end: (observable, hasEnded) => this.#observers.get(observable)?.end(hasEnded),
    };
    const asked = Array.from(this.#callbacks, async (callback) => callback(result));
    const answers = await Promise.allSettled(asked);
    return answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []));
  }
}
