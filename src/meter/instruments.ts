/**
 * Makes the instruments of a table: one for each row that is on, as the row says, and none for a row that is off. It
 * knows the OpenTelemetry API only, so that whatever SDK a process has can stand behind it.
 */
import {
  type BatchObservableResult,
  type Histogram,
  type Meter,
  type MetricOptions,
  type ObservableGauge,
  ValueType,
} from '@opentelemetry/api';
import type { ATTRIBUTES, AttributeKey } from './attributes.ts';
import type { InstrumentRow } from './catalog.ts';
import { attributesOf, type CoalescingCounter, createCoalescingCounter } from './coalescing-counter.ts';

type Table = Readonly<Record<string, InstrumentRow>>;

/** The names of a table's counters, histograms or gauges. */
type NameOf<T extends Table, I extends InstrumentRow['instrument']> = {
  [N in keyof T & string]: I extends T[N]['instrument'] ? N : never;
}[keyof T & string];

type ValueOf<K extends AttributeKey> = (typeof ATTRIBUTES)[K]['values'] extends 'boolean' ? boolean : string;
type Values<K extends readonly AttributeKey[]> = { readonly [I in keyof K]: ValueOf<K[I]> };
type Optional<V extends readonly unknown[]> = { readonly [I in keyof V]: V[I] | undefined };

/** The values of a row's attributes in their order; those that not every point has come last and may be undefined. */
type ValuesOf<R extends InstrumentRow> = R extends {
  readonly optionalAttributes: infer O extends readonly AttributeKey[];
}
  ? readonly [...Values<R['attributes']>, ...Optional<Values<O>>]
  : Values<R['attributes']>;

/** Says what a gauge is at a collection; of undefined, which is not known, there is no point. */
export type Observe<T extends Table> = <N extends NameOf<T, 'gauge'>>(
  name: N,
  value: number | undefined,
  values: ValuesOf<T[N]>,
) => void;

/** Every metric of a table by its name; what is said of one that is off goes nowhere. */
export interface Instruments<T extends Table> {
  /** Adds to a counter. */
  add<N extends NameOf<T, 'counter'>>(name: N, values: ValuesOf<T[N]>, amount?: number): void;
  /** Records in a histogram, unless the measurement is undefined. */
  record<N extends NameOf<T, 'histogram'>>(
    name: N,
    measurement: number | undefined,
    values: ValuesOf<T[N]>,
  ): void;
  /** Detaches from the meter; what was added and not collected yet is handed over first. */
  close(): void;
}

/** Is never observed, so it has no points: a callback needs some observable to hang on. */
const HOOK = 'celery_otel.collection';

/**
 * @param isOn whether a row's metric is wanted
 * @param onCollect called at each collection, also when every gauge is off
 */
export function createInstruments<const T extends Table>(
  meter: Meter,
  table: T,
  isOn: (name: keyof T & string) => boolean,
  onCollect: (observe: Observe<T>) => void,
): Instruments<T> {
  const counters = new Map<string, CoalescingCounter>();
  const histograms = new Map<string, Histogram>();
  const gauges = new Map<string, ObservableGauge>();
  for (const name in table) {
    const row = table[name];
    if (row === undefined || !isOn(name)) continue;
    switch (row.instrument) {
      case 'counter':
        counters.set(name, createCoalescingCounter(meter.createCounter(name, optionsOf(row)), keysOf(row)));
        break;
      case 'histogram':
        histograms.set(name, meter.createHistogram(name, optionsOf(row)));
        break;
      case 'gauge':
        gauges.set(name, meter.createObservableGauge(name, optionsOf(row)));
        break;
    }
  }
  const keys = new Map(Object.entries(table).map(([name, row]) => [name, keysOf(row)]));
  const attributes = (name: string, values: ValuesOf<InstrumentRow>) =>
    attributesOf(keys.get(name) ?? [], values);
  const flush = (): void => {
    for (const counter of counters.values()) counter.flush();
  };

  // An SDK calls its observable callbacks before it reads the other instruments of the meter (metrics SDK
  // specification, "Collect"), so what is handed over here is part of the same export.
  function collect(result: BatchObservableResult): void {
    flush();
    onCollect((name, value, values) => {
      const gauge = gauges.get(name);
      if (gauge !== undefined && value !== undefined) result.observe(gauge, value, attributes(name, values));
    });
  }
  const hooks = gauges.size === 0 ? [meter.createObservableGauge(HOOK)] : [...gauges.values()];
  meter.addBatchObservableCallback(collect, hooks);

  return {
    add: (name, values, amount = 1) => counters.get(name)?.add(amount, values),
    record(name, measurement, values) {
      const histogram = histograms.get(name);
      if (histogram === undefined || measurement === undefined) return;
      histogram.record(measurement, attributes(name, values));
    },
    close() {
      flush();
      meter.removeBatchObservableCallback(collect, hooks);
    },
  };
}

function keysOf({ attributes, optionalAttributes = [] }: InstrumentRow): readonly AttributeKey[] {
  return [...attributes, ...optionalAttributes];
}

/** The row's buckets travel with the instrument as advice, so that no view has to know the catalog. */
function optionsOf({ unit, description, valueType, buckets }: InstrumentRow): MetricOptions {
  return {
    unit,
    description,
    valueType: valueType === 'int' ? ValueType.INT : ValueType.DOUBLE,
    ...(buckets === undefined ? {} : { advice: { explicitBucketBoundaries: [...buckets] } }),
  };
}
