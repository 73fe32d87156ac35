/**
 * Creates one instrument for each enabled row of a table. It needs only the OpenTelemetry API, so it works with any SDK.
 */
import {
  type Attributes,
  type Histogram,
  type Meter,
  type MetricOptions,
  type ObservableGauge,
  ValueType,
} from '@opentelemetry/api';
import type { Pace } from '../timing/cooperative.ts';
import type { ATTRIBUTES, AttributeKey } from './attributes.ts';
import {
  type AgedObservableResult,
  type BindableCounter,
  type BindableHistogram,
  type CounterSeries,
  type HistogramSeries,
  isBindable,
  type OfferExemplar,
} from './bindable.ts';
import type { InstrumentRow } from './catalog.ts';
import { type CoalescingCounter, createCoalescingCounter } from './coalescing-counter.ts';

type Table = Readonly<Record<string, InstrumentRow>>;

/** The names of a table's counters, histograms or gauges. */
type NameOf<T extends Table, I extends InstrumentRow['instrument']> = {
  [N in keyof T & string]: I extends T[N]['instrument'] ? N : never;
}[keyof T & string];

type ValueOf<K extends AttributeKey> = (typeof ATTRIBUTES)[K] extends { values: 'boolean' }
  ? boolean
  : string;
type Values<K extends readonly AttributeKey[]> = { readonly [I in keyof K]: ValueOf<K[I]> };
type Optional<V extends readonly unknown[]> = { readonly [I in keyof V]: V[I] | undefined };

type OptionalKeys<R> = R extends { readonly optionalAttributes: infer O extends readonly AttributeKey[] }
  ? O
  : readonly [];
type OptInKeys<R> = R extends { readonly optInAttributes: infer O extends readonly AttributeKey[] }
  ? O
  : readonly [];

/**
 * The values of a row's attributes: the required ones, then the optional and the opt-in ones, which may be undefined. Opt-in
 * ones are ignored unless enabled.
 */
type ValuesOf<R extends InstrumentRow> = readonly [
  ...Values<R['attributes']>,
  ...Optional<Values<OptionalKeys<R>>>,
  ...Optional<Values<OptInKeys<R>>>,
];

/** Reports the value that a gauge has at a collection, or had `ageMs` before it; undefined creates no point. */
export type ObserveGauge<T extends Table> = <N extends NameOf<T, 'gauge'>>(
  name: N,
  value: number | undefined,
  values: ValuesOf<T[N]>,
  ageMs?: number,
) => void;

/** Sets which gauge series without a value at this collection have ended. */
export type End<T extends Table> = (
  hasEnded: (name: keyof T & string, attributes: Attributes) => boolean,
) => void;

/** All metrics of a table by name; measurements of disabled ones are ignored. */
export interface Instruments<T extends Table> {
  /** Adds to a counter. */
  add<N extends NameOf<T, 'counter'>>(name: N, values: ValuesOf<T[N]>, amount?: number): void;
  /** One series of a counter, to keep for frequent use. */
  counterSeries<N extends NameOf<T, 'counter'>>(name: N, values: ValuesOf<T[N]>): CounterSeries;
  /** One series of a histogram. */
  histogramSeries<N extends NameOf<T, 'histogram'>>(name: N, values: ValuesOf<T[N]>): HistogramSeries;
  /** Offers exemplars to one series; does nothing if the meter has no exemplars. */
  exemplars<N extends NameOf<T, 'counter' | 'histogram'>>(name: N, values: ValuesOf<T[N]>): OfferExemplar;
  /** Flushes, then detaches from the meter. */
  close(): void;
}

/** For disabled metrics. */
const NO_SERIES = { add: () => {}, record: () => {} };
const NO_EXEMPLARS: OfferExemplar = () => {};

/** An observable that never has points. It is created if all gauges are disabled, since a callback needs an observable. */
const HOOK = 'celery_otel.collection';

export interface InstrumentsOptions<T extends Table> {
  readonly meter: Meter;
  readonly table: T;
  /** Whether a metric is enabled. */
  readonly isOn: (name: keyof T & string) => boolean;
  /** Whether an opt-in attribute is enabled; by default, none is. */
  readonly wants?: (name: keyof T & string, key: AttributeKey) => boolean;
  /**
   * Called and awaited at each collection, even if every gauge is disabled. What it adds to counters is part of that
   * collection. It must await `pace` between its steps, and may report which series have ended.
   */
  readonly onCollect: (observe: ObserveGauge<T>, pace: Pace, end: End<T>) => Promise<void> | void;
  /** Creates the pace of one collection; by default, collections do not yield. */
  readonly newPace?: () => Pace;
}

/** How many series are flushed between two yields; that takes some milliseconds if they are new to the SDK. */
const FLUSHED_AT_ONCE = 500;

/** The keys of a row’s values, in the order of the values; undefined for opt-in attributes that are disabled. */
type AttributeKeys = readonly (AttributeKey | undefined)[];

/** One value per key; undefined if the point does not have the attribute. */
type AttributeValues = readonly (string | boolean | undefined)[];

interface Keyed<I> {
  readonly instrument: I;
  readonly keys: AttributeKeys;
}

export function createInstruments<const T extends Table>(options: InstrumentsOptions<T>): Instruments<T> {
  const { meter, onCollect, newPace = () => () => undefined } = options;
  const { counters, coalescing, histograms, gauges } = makeAll(options);

  // An SDK calls observable callbacks before it reads the other instruments of the meter (metrics SDK specification,
  // "Collect"), so what is flushed here is part of the same export. The flush comes last, to include what `onCollect` adds, and
  // takes place even if `onCollect` fails.
  async function collect(result: AgedObservableResult): Promise<void> {
    const pace = newPace();
    try {
      const observe: ObserveGauge<T> = (name, value, values, ageMs) => {
        const made = gauges.get(name);
        if (made === undefined || value === undefined) return;
        result.observe(made.instrument, value, attributesOf(made.keys, values), ageMs);
      };
      await onCollect(observe, pace, (hasEnded) => {
        for (const [name, { instrument }] of gauges)
          result.end?.(instrument, (attributes) => hasEnded(name, attributes));
      });
    } finally {
      for (const counter of coalescing) await flushAll(counter, pace);
    }
  }
  const hooks =
    gauges.size === 0
      ? [meter.createObservableGauge(HOOK)]
      : Array.from(gauges.values(), ({ instrument }) => instrument);
  meter.addBatchObservableCallback(collect, hooks);

  return {
    add(name, values, amount = 1) {
      const made = counters.get(name);
      made?.instrument.add(amount, attributesOf(made.keys, values));
    },
    counterSeries(name, values) {
      const made = counters.get(name);
      return made?.instrument.bind(attributesOf(made.keys, values)) ?? NO_SERIES;
    },
    histogramSeries(name, values) {
      const made = histograms.get(name);
      return made?.instrument.bind(attributesOf(made.keys, values)) ?? NO_SERIES;
    },
    exemplars(name, values) {
      const made = counters.get(name) ?? histograms.get(name);
      return made?.instrument.bindExemplars?.(attributesOf(made.keys, values)) ?? NO_EXEMPLARS;
    },
    close() {
      for (const counter of coalescing) counter.flush();
      meter.removeBatchObservableCallback(collect, hooks);
    },
  };
}

/** Flushes as many series as wait now, not those that are added meanwhile. */
async function flushAll(counter: CoalescingCounter, pace: Pace): Promise<void> {
  for (let left = counter.waiting; left > 0; left -= FLUSHED_AT_ONCE) {
    counter.flush(FLUSHED_AT_ONCE);
    await pace();
  }
}

function makeAll<T extends Table>({ meter, table, isOn, wants = () => false }: InstrumentsOptions<T>) {
  const made = {
    counters: new Map<string, Keyed<BindableCounter>>(),
    /** The counters that must be flushed. */
    coalescing: new Set<CoalescingCounter>(),
    histograms: new Map<string, Keyed<Bound>>(),
    gauges: new Map<keyof T & string, Keyed<ObservableGauge>>(),
  };
  for (const name in table) {
    const row = table[name];
    if (row === undefined || !isOn(name)) continue;
    const keys = keysOf(row, (key) => wants(name, key));
    switch (row.instrument) {
      case 'counter': {
        const counter = meter.createCounter(name, optionsOf(row));
        if (isBindable(counter)) made.counters.set(name, { instrument: counter, keys });
        else {
          const coalescing = createCoalescingCounter(counter);
          made.coalescing.add(coalescing);
          made.counters.set(name, { instrument: coalescing, keys });
        }
        break;
      }
      case 'histogram':
        made.histograms.set(name, {
          instrument: bindable(meter.createHistogram(name, optionsOf(row))),
          keys,
        });
        break;
      case 'gauge':
        made.gauges.set(name, { instrument: meter.createObservableGauge(name, optionsOf(row)), keys });
        break;
    }
  }
  return made;
}

type Bound = Pick<BindableHistogram, 'bind' | 'bindExemplars'>;

function bindable(histogram: Histogram): Bound {
  if (isBindable(histogram)) return histogram;
  return { bind: (attributes) => ({ record: (measurement) => histogram.record(measurement, attributes) }) };
}

function keysOf(
  { attributes, optionalAttributes = [], optInAttributes = [] }: InstrumentRow,
  wanted: (key: AttributeKey) => boolean,
): AttributeKeys {
  const optedIn = optInAttributes.map((key) => (wanted(key) ? key : undefined));
  return [...attributes, ...optionalAttributes, ...optedIn];
}

/** Buckets are passed as advice, so that views need not know the catalog. */
function optionsOf({ unit, description, valueType, buckets }: InstrumentRow): MetricOptions {
  return {
    unit,
    description,
    valueType: valueType === 'int' ? ValueType.INT : ValueType.DOUBLE,
    ...(buckets === undefined ? {} : { advice: { explicitBucketBoundaries: [...buckets] } }),
  };
}

function attributesOf(keys: AttributeKeys, values: AttributeValues): Attributes {
  const attributes: Attributes = {};
  for (let index = 0; index < keys.length; index += 1) {
    const [key, value] = [keys[index], values[index]];
    if (key !== undefined && value !== undefined) attributes[key] = value;
  }
  return attributes;
}
