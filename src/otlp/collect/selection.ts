/** Decides whether a view selects an instrument. Pure. */
import { wildcard } from '../../text/wildcard.ts';
import type { ViewSelector } from './view.ts';

/** The properties of an instrument that a selector can match. */
export type Selectable = { readonly [K in keyof ViewSelector]-?: Exclude<ViewSelector[K], undefined> };

export function selects({ instrumentName, ...exact }: ViewSelector, asked: Selectable): boolean {
  const fits = (key: keyof typeof exact) => exact[key] === undefined || exact[key] === asked[key];
  return (
    (instrumentName === undefined || wildcard(instrumentName, { ignoreCase: true })(asked.instrumentName)) &&
    EXACT.every(fits)
  );
}

const EXACT = ['instrumentKind', 'unit', 'meterName', 'meterVersion', 'meterSchemaUrl'] as const;
