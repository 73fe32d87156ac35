/** Reads `meter_provider.views` of a configuration file. It does not check views against the catalog; `view-checks.ts` does. */
import { type AggregationChoice, INSTRUMENT_KINDS, type View } from '../../otlp/collect/view.ts';
import { finiteNumber, format, line, oneOf, trueOrFalse, wholeNumber } from '../format/formats.ts';
import { into, list, map, placed, present, refused, required, scalar } from './shape.ts';
import { checkViews } from './view-checks.ts';

const SERIES_MAX = 1_000_000;
const BUCKETS_MAX = 16_384;

/** At least two, because one point is reserved for the overflow. */
export const cardinalityLimit = wholeNumber(2, SERIES_MAX);
export const maxScale = wholeNumber(-10, 20);
export const maxSize = wholeNumber(2, BUCKETS_MAX);

const text = scalar(line(1024));
const pattern = scalar(line(255));
const patterns = list(pattern, 'values');
const flag = scalar(trueOrFalse);

/** Metrics API, "Instrument name syntax". */
const streamName = format(
  'a letter, followed by letters, digits or _ . - /, at most 255 characters',
  (name) => (/^[a-z][a-z0-9_.\-/]{0,254}$/i.test(name) ? { ok: true, value: name } : undefined),
);

const selector = into(
  map({
    instrumentName: pattern,
    instrumentType: scalar(oneOf(INSTRUMENT_KINDS)),
    unit: text,
    meterName: text,
    meterVersion: text,
    meterSchemaUrl: refused('the meters have no schema URL'),
  }),
  ({ instrumentType: instrumentKind, ...others }, place) => {
    if (place.entries().every(([, value]) => value.isNull)) {
      place.complain('at least one criterion, such as instrument_name ("*" for all metrics)');
    }
    return { ...others, instrumentKind };
  },
);

/** An aggregation without settings. */
const plain = (kind: 'default' | 'drop' | 'sum' | 'last_value') =>
  into(map({}), (): AggregationChoice => ({ kind }));

const explicit = into(
  map({ boundaries: placed(list(present(finiteNumber), 'values')), recordMinMax: flag }),
  ({ boundaries, recordMinMax = true }): AggregationChoice => {
    const isAscending = boundaries?.value.every(
      (number, index, all) => index === 0 || number > (all[index - 1] ?? number),
    );
    if (isAscending === false) boundaries?.place.complain('numbers in ascending order');
    return { kind: 'explicit_bucket_histogram', boundaries: boundaries?.value, recordMinMax };
  },
);

/** The defaults of the specification ("Base2 Exponential Bucket Histogram Aggregation"). */
const base2 = into(
  map({ maxScale: scalar(maxScale), maxSize: scalar(maxSize), recordMinMax: flag }),
  ({ maxScale = 20, maxSize = 160, recordMinMax = true }): AggregationChoice => ({
    kind: 'base2_exponential_bucket_histogram',
    maxScale,
    maxSize,
    recordMinMax,
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
    aggregationCardinalityLimit: scalar(cardinalityLimit),
    attributeKeys: map({ included: patterns, excluded: patterns }),
  }),
  ({ aggregationCardinalityLimit: cardinalityLimit, ...others }) => ({ ...others, cardinalityLimit }),
);

const view = into(
  map({
    selector: required(selector, 'the instruments that it selects'),
    stream: required(stream, 'the settings for the selected instruments'),
  }),
  ({ selector = {}, stream = {} }) => ({ selector, stream }),
);

export const VIEWS = into(list(placed(view)), (views): readonly View[] => {
  checkViews(views);
  return views.map(({ value }) => value);
});
