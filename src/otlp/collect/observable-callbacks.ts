/**
 * The callbacks of observable gauges, which are called at each collection. Their observations are not kept here.
 */
import type {
  Attributes,
  BatchObservableCallback,
  Observable,
  ObservableCallback,
  ObservableGauge,
} from '@opentelemetry/api';

export type Observe = (value: number, attributes?: Attributes) => void;

interface Registration {
  readonly callback: BatchObservableCallback;
  readonly observables: readonly Observable[];
}

export class ObservableCallbacks {
  /** Where the observations of each observable go. */
  readonly #observers = new WeakMap<Observable, Observe>();
  readonly #single = new Map<ObservableCallback, Set<Observe>>();
  readonly #batches: Registration[] = [];

  /** Creates an observable whose observations go to `observe`. */
  observable(observe: Observe): ObservableGauge {
    const made: ObservableGauge = {
      addCallback: (callback) => {
        this.#single.set(callback, (this.#single.get(callback) ?? new Set()).add(observe));
      },
      removeCallback: (callback) => {
        const observers = this.#single.get(callback);
        observers?.delete(observe);
        if (observers?.size === 0) this.#single.delete(callback);
      },
    };
    this.#observers.set(made, observe);
    return made;
  }

  has(observable: Observable): boolean {
    return this.#observers.has(observable);
  }

  addBatch(callback: BatchObservableCallback, observables: readonly Observable[]): void {
    if (this.#indexOf(callback, observables) < 0) this.#batches.push({ callback, observables });
  }

  removeBatch(callback: BatchObservableCallback, observables: readonly Observable[]): void {
    const index = this.#indexOf(callback, observables);
    if (index >= 0) this.#batches.splice(index, 1);
  }

  /** Calls all of them, even if one throws. @returns the failures */
  async ask(): Promise<readonly unknown[]> {
    const asked = [
      ...this.#batches.map(({ callback, observables }) => this.#askBatch(callback, observables)),
      ...[...this.#single].flatMap(([callback, observers]) =>
        [...observers].map((observe) => async () => callback({ observe })),
      ),
    ];
    const answers = await Promise.allSettled(asked.map((ask) => ask()));
    return answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []));
  }

  #askBatch(callback: BatchObservableCallback, observables: readonly Observable[]): () => Promise<void> {
    const known = new Set(observables);
    return async () => {
      await callback({
        // Observations of instruments not registered with the callback are ignored (metrics API specification).
        observe: (observable, value, attributes) => {
          if (known.has(observable)) this.#observers.get(observable)?.(value, attributes);
        },
      });
    };
  }

  #indexOf(callback: BatchObservableCallback, observables: readonly Observable[]): number {
    return this.#batches.findIndex(
      (batch) =>
        batch.callback === callback &&
        batch.observables.length === observables.length &&
        observables.every((observable) => batch.observables.includes(observable)),
    );
  }
}
