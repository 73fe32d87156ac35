/**
 * `meter_provider.views` of a configuration file → views. Each key was validated before; `view-checks.ts` checks views
 * against the catalog.
 */
import type { AggregationChoice, View, ViewSelector, ViewStream } from '../../otlp/collect/view.ts';
import { finiteNumber, trueOrFalse } from '../format/formats.ts';
import type { FileValue } from './file-value.ts';
import { STANDARD_FORMATS as F } from './standard-table.ts';
import { checkViews } from './view-checks.ts';

/** The defaults of the specification ("Base2 Exponential Bucket Histogram Aggregation"). */
const MAX_SCALE = 20;
const MAX_SIZE = 160;

type Maybe = FileValue | undefined;

export function readViews(views: FileValue | undefined): readonly View[] {
  const placed = (views?.items() ?? []).map((place) => ({
    place,
    view: { selector: readSelector(place.get('selector')), stream: readStream(place.get('stream')) },
  }));
  checkViews(placed);
  return placed.map(({ view }) => view);
}

function readSelector(selector: Maybe): ViewSelector {
  return {
    instrumentName: selector?.get('instrument_name')?.peek(F.pattern),
    instrumentKind: selector?.get('instrument_type')?.peek(F.instrumentType),
    unit: selector?.get('unit')?.peek(F.text),
    meterName: selector?.get('meter_name')?.peek(F.text),
    meterVersion: selector?.get('meter_version')?.peek(F.text),
  };
}

function readStream(stream: Maybe): ViewStream {
  const keys = stream?.get('attribute_keys');
  const included = readPatterns(keys?.get('included'));
  const excluded = readPatterns(keys?.get('excluded'));
  return {
    name: stream?.get('name')?.peek(F.streamName),
    description: stream?.get('description')?.peek(F.text),
    aggregation: readAggregation(stream?.get('aggregation')),
    cardinalityLimit: stream?.get('aggregation_cardinality_limit')?.peek(F.cardinalityLimit),
    attributeKeys: included === undefined && excluded === undefined ? undefined : { included, excluded },
  };
}

function readPatterns(patterns: Maybe): readonly string[] | undefined {
  return patterns?.items().flatMap((pattern) => pattern.peek(F.pattern) ?? []);
}

function readAggregation(aggregation: Maybe): AggregationChoice | undefined {
  const [entry] = aggregation?.entries() ?? [];
  if (entry === undefined) return undefined;
  const [kind, settings] = entry;
  const recordMinMax = settings.get('record_min_max')?.peek(trueOrFalse) ?? true;
  switch (kind) {
    case 'default':
    case 'drop':
    case 'sum':
    case 'last_value':
      return { kind };
    case 'explicit_bucket_histogram':
      return { kind, boundaries: readBoundaries(settings.get('boundaries')), recordMinMax };
    case 'base2_exponential_bucket_histogram':
      return {
        kind,
        maxScale: settings.get('max_scale')?.peek(F.maxScale) ?? MAX_SCALE,
        maxSize: settings.get('max_size')?.peek(F.maxSize) ?? MAX_SIZE,
        recordMinMax,
      };
    default:
      return undefined;
  }
}

function readBoundaries(boundaries: Maybe): readonly number[] | undefined {
  const numbers = boundaries?.items().flatMap((boundary) => boundary.peek(finiteNumber) ?? []);
  const isAscending = numbers?.every(
    (number, index) => index === 0 || number > (numbers[index - 1] ?? number),
  );
  if (isAscending === false) boundaries?.complain('numbers in ascending order');
  return numbers;
}
