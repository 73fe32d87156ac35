/** `meter_provider.views` of a configuration file → views. `view-checks.ts` checks them against the catalog. */
import type { AggregationChoice, View } from '../../otlp/collect/view.ts';
import { finiteNumber, format, line, oneOf, trueOrFalse, wholeNumber } from '../format/formats.ts';
import { into, list, map, placed, present, refused, required, scalar } from './shape.ts';
import { checkViews } from './view-checks.ts';

const SERIES_MAX = 1_000_000;
const BUCKETS_MAX = 16_384;

/** At least two, because one point is reserved for the overflow. */
export const cardinalityLimit = wholeNumber(2, SERIES_MAX);
export const maxScale = wholeNumber(-10, 20);
export const maxSize = wholeNumber(2, BUCKETS_MAX);

/** The defaults of the specification ("Base2 Exponential Bucket Histogram Aggregation"). */
const MAX_SCALE = 20;
const MAX_SIZE = 160;

const text = scalar(line(1024));
const pattern = scalar(line(255));
const patterns = list(pattern, 'values');
const flag = scalar(trueOrFalse);

/** Metrics API, "Instrument name syntax". */
const streamName = format(
  'a letter, followed by letters, digits or _ . - /, at most 255 characters',
  (name) => (/^[a-z][a-z0-9_.\-/]{0,254}$/i.test(name) ? { ok: true, value: name } : undefined),
);

const instrumentType = oneOf([
  'counter',
  'gauge',
  'histogram',
  'observable_counter',
  'observable_gauge',
  'observable_up_down_counter',
  'up_down_counter',
]);

const selector = into(
  map({
    instrument_name: pattern,
    instrument_type: scalar(instrumentType),
    unit: text,
    meter_name: text,
    meter_version: text,
    meter_schema_url: refused('the meters have no schema URL'),
  }),
  (keys) => ({
    instrumentName: keys.instrument_name,
    instrumentKind: keys.instrument_type,
    unit: keys.unit,
    meterName: keys.meter_name,
    meterVersion: keys.meter_version,
  }),
);

/** An aggregation without settings. */
const plain = (kind: 'default' | 'drop' | 'sum' | 'last_value') =>
  into(map({}), (): AggregationChoice => ({ kind }));

const explicit = into(
  map({ boundaries: placed(list(present(finiteNumber), 'values')), record_min_max: flag }),
  ({ boundaries, record_min_max: recordMinMax = true }): AggregationChoice => {
    const isAscending = boundaries?.value.every(
      (number, index, all) => index === 0 || number > (all[index - 1] ?? number),
    );
    if (isAscending === false) boundaries?.place.complain('numbers in ascending order');
    return { kind: 'explicit_bucket_histogram', boundaries: boundaries?.value, recordMinMax };
  },
);

const base2 = into(
  map({
    max_scale: scalar(maxScale),
    max_size: scalar(maxSize),
    record_min_max: flag,
  }),
  (keys): AggregationChoice => ({
    kind: 'base2_exponential_bucket_histogram',
    maxScale: keys.max_scale ?? MAX_SCALE,
    maxSize: keys.max_size ?? MAX_SIZE,
    recordMinMax: keys.record_min_max ?? true,
  }),
);

const aggregation = into(
  map(
    {
      default: plain('default'),
      drop: plain('drop'),
      sum: plain('sum'),
      last_value: plain('last_value'),
      explicit_bucket_histogram: explicit,
      base2_exponential_bucket_histogram: base2,
    },
    { one: true },
  ),
  (kinds) => Object.values(kinds).find((kind) => kind !== undefined),
);

const stream = into(
  map({
    name: scalar(streamName),
    description: text,
    aggregation,
    aggregation_cardinality_limit: scalar(cardinalityLimit),
    attribute_keys: map({ included: patterns, excluded: patterns }),
  }),
  (keys) => {
    const { included, excluded } = keys.attribute_keys ?? {};
    return {
      name: keys.name,
      description: keys.description,
      aggregation: keys.aggregation,
      cardinalityLimit: keys.aggregation_cardinality_limit,
      attributeKeys: included === undefined && excluded === undefined ? undefined : { included, excluded },
    };
  },
);

const view = map({
  selector: required(selector, 'the instruments that it selects'),
  stream: required(stream, 'the settings for the selected instruments'),
});

export const VIEWS = into(list(placed(view)), (views): readonly View[] => {
  const whole = views.map(({ place, value: { selector = {}, stream = {} } }) => ({
    place,
    view: { selector, stream },
  }));
  checkViews(whole);
  return whole.map((one) => one.view);
});
