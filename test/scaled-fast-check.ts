/** fast-check, with as many runs as the environment asks for; see `seed.ts`. */

import { type IAsyncProperty, type IProperty, type Parameters, assert as run } from 'fast-check';
import { positive } from './positive.ts';

/** fast-check’s own default. */
const RUNS_DEFAULT = 100;
const RUNS = positive('RUNS', 1);

export function assert<T>(property: IAsyncProperty<T>, parameters?: Parameters<T>): Promise<void>;
export function assert<T>(property: IProperty<T>, parameters?: Parameters<T>): void;
export function assert<T>(
  property: IAsyncProperty<T> | IProperty<T>,
  { numRuns = RUNS_DEFAULT, ...parameters }: Parameters<T> = {},
): Promise<void> | void {
  const scaled = { ...parameters, numRuns: Math.ceil(RUNS * numRuns) };
  // One overload for each.
  return isAsync(property) ? run(property, scaled) : run(property, scaled);
}

function isAsync<T>(property: IAsyncProperty<T> | IProperty<T>): property is IAsyncProperty<T> {
  return property.isAsync();
}

export * from 'fast-check';
