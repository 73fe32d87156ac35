/**
 * Makes the instruments of a table: one for each row that is on, as the row says, and none for a row that is off. It
 * knows the OpenTelemetry API only, so that whatever SDK a process has can stand behind it.
 */
import {
  type Attributes,
  type BatchObservableResult,
  type Histogram,
  type Meter,
  type MetricOptions,
  type ObservableGauge,
  ValueType,
} from '@opentelemetry/api';
import type { Pace } from '../turns.ts';
import type { ATTRIBUTES, AttributeKey } from './attributes.ts';
import {
  type BindableCounter,
  type BindableHistogram,
  type CounterSeries,
  type HistogramSeries,
  isBindableCounter,
  isBindableHistogram,
} from './bindable.ts';
import type { InstrumentRow } from './catalog.ts';
import { type CoalescingCounter, createCoalescingCounter } from './coalescing-counter.ts';

type Table = Readonly<Record<string, InstrumentRow>>;

/** The names of a table's counters, histograms or gauges. */
type NameOf<T extends Table, I extends InstrumentRow['instrument']> = {
  [N in keyof T & string]: I extends T[N]['instrument'] ? N : never;
}[keyof T & string];

type ValueOf<K extends AttributeKey> = (typeof ATTRIBUTES)[K]['values'] extends 'boolean' ? boolean : string;
type Values<K extends readonly AttributeKey[]> = { readonly [I in keyof K]: ValueOf<K[I]> };
type Optional<V extends readonly unknown[]> = { readonly [I in keyof V]: V[I] | undefined };

type OptionalKeys<R> = R extends { readonly optionalAttributes: infer O extends readonly AttributeKey[] }
  ? O
  : readonly [];
type OptInKeys<R> = R extends { readonly optInAttributes: infer O extends readonly AttributeKey[] }
  ? O
  : readonly [];

/**
 * The values of a row's attributes: first those of every point, then those that not every point has and that may be
 * undefined, then those that are on the points only if they are wanted.
 */
type ValuesOf<R extends InstrumentRow> = readonly [
  ...Values<R['attributes']>,
  ...Optional<Values<OptionalKeys<R>>>,
  ...Values<OptInKeys<R>>,
];

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
  /** One series of a counter, for those who add to it often and keep it. */
  counterSeries<N extends NameOf<T, 'counter'>>(name: N, values: ValuesOf<T[N]>): CounterSeries;
  /** One series of a histogram, for those who record in it often. */
  histogramSeries<N extends NameOf<T, 'histogram'>>(name: N, values: ValuesOf<T[N]>): HistogramSeries;
  /** Detaches from the meter; what was added and not collected yet is handed over first. */
  close(): void;
}

/** Of metrics that are off. */
const NO_SERIES = { add: () => {}, record: () => {} };

/** Is never observed, so it has no points: a callback needs some observable to hang on. */
const HOOK = 'celery_otel.collection';

export interface InstrumentsOptions<T extends Table> {
  readonly meter: Meter;
  readonly table: T;
  /** Whether a row's metric is wanted. */
  readonly isOn: (name: keyof T & string) => boolean;
  /** Whether an opt-in attribute of a row is wanted; by default none is. */
  readonly wants?: (name: keyof T & string, key: AttributeKey) => boolean;
  /**
   * Called at each collection, also when every gauge is off, and waited for; what it adds to counters is part of that
   * collection. Where it has much to say, it lets others have their turn.
   */
  readonly onCollect: (observe: Observe<T>, pace: Pace) => Promise<void> | void;
  /** The pace of one collection; by default, it is all done in one turn. */
  readonly newPace?: () => Pace;
}

/** Series; some ms where the SDK has never met them. */
const HANDED_OVER_AT_ONCE = 500;

/** The keys of a row’s values, in their order; undefined for one that is wanted on no point. */
type AttributeKeys = readonly (AttributeKey | undefined)[];

/** One for each of the keys; undefined where a point does not have it. */
type AttributeValues = readonly (string | boolean | undefined)[];

interface Keyed<I> {
  readonly instrument: I;
  readonly keys: AttributeKeys;
}

interface Made {
  readonly counters: Map<string, Keyed<BindableCounter>>;
  /** Those of them whose sums have to be handed over. */
  readonly coalescing: CoalescingCounter[];
  readonly histograms: Map<string, Keyed<BindableHistogram>>;
  readonly gauges: Map<string, Keyed<ObservableGauge>>;
}

export function createInstruments<const T extends Table>(options: InstrumentsOptions<T>): Instruments<T> {
  const { meter, onCollect, newPace = () => () => undefined } = options;
  const { counters, coalescing, histograms, gauges } = makeAll(options);

  // An SDK calls its observable callbacks before it reads the other instruments of the meter (metrics SDK
  // specification, "Collect"), so what is handed over here is part of the same export. That comes last, for what is added
  // during this very call, and also if the call fails: gauges that cannot be read are no reason to lose counts.
  async function collect(result: BatchObservableResult): Promise<void> {
    const pace = newPace();
    try {
      await onCollect((name, value, values) => {
        const made = gauges.get(name);
        if (made === undefined || value === undefined) return;
        result.observe(made.instrument, value, attributesOf(made.keys, values));
      }, pace);
    } finally {
      for (const counter of coalescing) await handOver(counter, pace);
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
    record(name, measurement, values) {
      const made = histograms.get(name);
      if (measurement !== undefined) made?.instrument.record(measurement, attributesOf(made.keys, values));
    },
    counterSeries(name, values) {
      const made = counters.get(name);
      return made?.instrument.bind(attributesOf(made.keys, values)) ?? NO_SERIES;
    },
    histogramSeries(name, values) {
      const made = histograms.get(name);
      return made?.instrument.bind(attributesOf(made.keys, values)) ?? NO_SERIES;
    },
    close() {
      for (const counter of coalescing) counter.flush();
      meter.removeBatchObservableCallback(collect, hooks);
    },
  };
}

/** What waits now, and not what comes in the turns between. */
async function handOver(counter: CoalescingCounter, pace: Pace): Promise<void> {
  for (let left = counter.waiting; left > 0; left -= HANDED_OVER_AT_ONCE) {
    counter.flush(HANDED_OVER_AT_ONCE);
    await pace();
  }
}

function makeAll<T extends Table>({ meter, table, isOn, wants = () => false }: InstrumentsOptions<T>): Made {
  const made: Made = { counters: new Map(), coalescing: [], histograms: new Map(), gauges: new Map() };
  for (const name in table) {
    const row = table[name];
    if (row === undefined || !isOn(name)) continue;
    const keys = keysOf(row, (key) => wants(name, key));
    switch (row.instrument) {
      case 'counter': {
        const counter = meter.createCounter(name, optionsOf(row));
        if (isBindableCounter(counter)) made.counters.set(name, { instrument: counter, keys });
        else {
          const coalescing = createCoalescingCounter(counter);
          made.coalescing.push(coalescing);
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

function bindable(histogram: Histogram): BindableHistogram {
  if (isBindableHistogram(histogram)) return histogram;
  return {
    record: (measurement, attributes) => histogram.record(measurement, attributes),
    bind: (attributes) => ({ record: (measurement) => histogram.record(measurement, attributes) }),
  };
}

function keysOf(
  { attributes, optionalAttributes = [], optInAttributes = [] }: InstrumentRow,
  wanted: (key: AttributeKey) => boolean,
): AttributeKeys {
  const optedIn = optInAttributes.map((key) => (wanted(key) ? key : undefined));
  return [...attributes, ...optionalAttributes, ...optedIn];
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

function attributesOf(keys: AttributeKeys, values: AttributeValues): Attributes {
  const attributes: Attributes = {};
  for (let index = 0; index < keys.length; index += 1) {
    const [key, value] = [keys[index], values[index]];
    if (key !== undefined && value !== undefined) attributes[key] = value;
  }
  return attributes;
}
