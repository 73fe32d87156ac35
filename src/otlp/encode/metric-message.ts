/** Encodes metrics for OTLP (opentelemetry/proto/metrics/v1/metrics.proto), with their exemplars and flags. Pure. */
import { ValueType } from '@opentelemetry/api';
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type ExponentialHistogram,
  type Histogram,
  type MetricData,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics';
import type { Exemplar } from '../aggregate/reservoir.ts';
import { writeAttributes } from './attribute-message.ts';
import {
  type Field,
  type MessageField,
  type MessageWriter,
  type NewWriter,
  writeList,
} from './message-writer.ts';
import { type RequestFields, writeRequest } from './otlp-request.ts';

/** The metrics of a request. */
export interface RequestedMetrics extends ResourceMetrics {
  /** The exemplars of each point that has any. */
  readonly exemplars?: ReadonlyMap<DataPoint<unknown>, readonly Exemplar[]>;
  /** Whether all points are the final points of their series, without a value. */
  readonly haveEnded?: true;
}

/** What a request has beside its points. */
type Beside = Pick<RequestedMetrics, 'exemplars' | 'haveEnded'>;

/** `DATA_POINT_FLAGS_NO_RECORDED_VALUE_MASK`. */
const NO_RECORDED_VALUE = 1;

/** The initial buffer size per point, which is enough for most. The buffer grows if needed. */
const POINT_BYTES = 512;

const REQUEST: RequestFields = {
  resources: { tag: 0x0a, name: 'resourceMetrics', width: 3, isRepeated: true },
  scopes: { tag: 0x12, name: 'scopeMetrics', width: 3, isRepeated: true },
  items: { tag: 0x12, name: 'metrics', width: 3, isRepeated: true },
};
const METRIC = {
  name: { tag: 0x0a, name: 'name' },
  description: { tag: 0x12, name: 'description' },
  unit: { tag: 0x1a, name: 'unit' },
  gauge: { tag: 0x2a, name: 'gauge', width: 3, isRepeated: false },
  sum: { tag: 0x3a, name: 'sum', width: 3, isRepeated: false },
  histogram: { tag: 0x4a, name: 'histogram', width: 3, isRepeated: false },
  exponentialHistogram: { tag: 0x52, name: 'exponentialHistogram', width: 3, isRepeated: false },
};
const DATA = {
  dataPoints: { tag: 0x0a, name: 'dataPoints', width: 2, isRepeated: true },
  aggregationTemporality: { tag: 0x10, name: 'aggregationTemporality' },
  isMonotonic: { tag: 0x18, name: 'isMonotonic' },
};
const POINT = {
  startTimeUnixNano: { tag: 0x11, name: 'startTimeUnixNano' },
  timeUnixNano: { tag: 0x19, name: 'timeUnixNano' },
};

/** The fields whose number depends on the kind of point. */
interface PointFields {
  readonly attributes: MessageField;
  readonly exemplars: MessageField;
  readonly flags: Field;
}

const NUMBER = {
  asDouble: { tag: 0x21, name: 'asDouble' },
  exemplars: { tag: 0x2a, name: 'exemplars', width: 1, isRepeated: true },
  asInt: { tag: 0x31, name: 'asInt' },
  attributes: { tag: 0x3a, name: 'attributes', width: 1, isRepeated: true },
  flags: { tag: 0x40, name: 'flags' },
};
const HISTOGRAM = {
  count: { tag: 0x21, name: 'count' },
  sum: { tag: 0x29, name: 'sum' },
  bucketCounts: { tag: 0x32, name: 'bucketCounts', width: 2, isRepeated: false },
  explicitBounds: { tag: 0x3a, name: 'explicitBounds', width: 2, isRepeated: false },
  exemplars: { tag: 0x42, name: 'exemplars', width: 1, isRepeated: true },
  attributes: { tag: 0x4a, name: 'attributes', width: 1, isRepeated: true },
  flags: { tag: 0x50, name: 'flags' },
  min: { tag: 0x59, name: 'min' },
  max: { tag: 0x61, name: 'max' },
};
const EXPONENTIAL = {
  attributes: { tag: 0x0a, name: 'attributes', width: 1, isRepeated: true },
  count: { tag: 0x21, name: 'count' },
  sum: { tag: 0x29, name: 'sum' },
  scale: { tag: 0x30, name: 'scale' },
  zeroCount: { tag: 0x39, name: 'zeroCount' },
  positive: { tag: 0x42, name: 'positive', width: 2, isRepeated: false },
  negative: { tag: 0x4a, name: 'negative', width: 2, isRepeated: false },
  flags: { tag: 0x50, name: 'flags' },
  exemplars: { tag: 0x5a, name: 'exemplars', width: 1, isRepeated: true },
  min: { tag: 0x61, name: 'min' },
  max: { tag: 0x69, name: 'max' },
};
const BUCKETS = {
  offset: { tag: 0x08, name: 'offset' },
  bucketCounts: { tag: 0x12, name: 'bucketCounts', width: 2, isRepeated: false },
};
const EXEMPLAR = {
  timeUnixNano: { tag: 0x11, name: 'timeUnixNano' },
  asDouble: { tag: 0x19, name: 'asDouble' },
  spanId: { tag: 0x22, name: 'spanId' },
  traceId: { tag: 0x2a, name: 'traceId' },
  asInt: { tag: 0x31, name: 'asInt' },
  filteredAttributes: { tag: 0x3a, name: 'filteredAttributes', width: 1, isRepeated: true },
};

export function encodeMetrics(
  { resource, scopeMetrics, ...beside }: RequestedMetrics,
  newWriter: NewWriter,
): Uint8Array {
  const scopes = scopeMetrics.map(({ scope, metrics }) => ({ scope, items: metrics }));
  const points = scopeMetrics.flatMap(({ metrics }) => metrics.map(({ dataPoints }) => dataPoints.length));
  const writer = newWriter(POINT_BYTES * points.reduce((sum, each) => sum + each, 1));
  writeRequest(writer, REQUEST, [{ resource, scopes }], (_, metric) => writeMetric(writer, metric, beside));
  return writer.finish();
}

function writeMetric(writer: MessageWriter, metric: MetricData, beside: Beside): void {
  const { name, description, unit } = metric.descriptor;
  writer.text(METRIC.name, name);
  writer.text(METRIC.description, description);
  writer.text(METRIC.unit, unit);
  switch (metric.dataPointType) {
    case DataPointType.GAUGE:
      writeData(writer, METRIC.gauge, metric, metric.dataPoints, numbersOf(metric), beside);
      break;
    case DataPointType.SUM:
      writeData(writer, METRIC.sum, metric, metric.dataPoints, numbersOf(metric), beside);
      break;
    case DataPointType.HISTOGRAM:
      writeData(writer, METRIC.histogram, metric, metric.dataPoints, HISTOGRAMS, beside);
      break;
    case DataPointType.EXPONENTIAL_HISTOGRAM:
      writeData(writer, METRIC.exponentialHistogram, metric, metric.dataPoints, EXPONENTIALS, beside);
      break;
  }
}

/** What the points of a kind have besides what all points have. */
interface PointKind<V> {
  readonly fields: PointFields;
  readonly writeValue: (writer: MessageWriter, value: V) => void;
  readonly writeRange?: (writer: MessageWriter, value: V) => void;
}

const DOUBLES: PointKind<number> = {
  fields: NUMBER,
  writeValue: (writer, value) => writer.double(NUMBER.asDouble, value),
};
const INTEGERS: PointKind<number> = {
  fields: NUMBER,
  writeValue: (writer, value) => writer.fixed64(NUMBER.asInt, value),
};
const HISTOGRAMS: PointKind<Histogram> = {
  fields: HISTOGRAM,
  writeValue: writeHistogram,
  writeRange: (writer, value) => writeRange(writer, HISTOGRAM, value),
};
const EXPONENTIALS: PointKind<ExponentialHistogram> = {
  fields: EXPONENTIAL,
  writeValue: writeExponential,
  writeRange: (writer, value) => writeRange(writer, EXPONENTIAL, value),
};

function numbersOf(metric: MetricData): PointKind<number> {
  return isInt(metric) ? INTEGERS : DOUBLES;
}

function isInt({ descriptor: { valueType } }: MetricData): boolean {
  return valueType === ValueType.INT;
}

function writeData<V>(
  writer: MessageWriter,
  field: MessageField,
  metric: MetricData,
  points: readonly DataPoint<V>[],
  { fields, writeValue, writeRange: writeItsRange }: PointKind<V>,
  { exemplars, haveEnded }: Beside,
): void {
  const writeItsExemplar = isInt(metric) ? writeIntExemplar : writeDoubleExemplar;
  const data = writer.open(field);
  writeList(writer, DATA.dataPoints, points, (_, point) => {
    writer.hrTime(POINT.startTimeUnixNano, point.startTime);
    writer.hrTime(POINT.timeUnixNano, point.endTime);
    writeValue(writer, point.value);
    writeAttributes(writer, fields.attributes, point.attributes);
    const own = exemplars?.get(point);
    if (own !== undefined) writeList(writer, fields.exemplars, own, writeItsExemplar);
    if (haveEnded === true) writer.int(fields.flags, NO_RECORDED_VALUE);
    writeItsRange?.(writer, point.value);
  });
  if (metric.dataPointType !== DataPointType.GAUGE) {
    const isDelta = metric.aggregationTemporality === AggregationTemporality.DELTA;
    writer.int(DATA.aggregationTemporality, isDelta ? 1 : 2);
  }
  if (metric.dataPointType === DataPointType.SUM && metric.isMonotonic) writer.bool(DATA.isMonotonic, true);
  writer.close(field, data);
}

function writeHistogram(writer: MessageWriter, { count, sum, buckets }: Histogram): void {
  writer.fixed64(HISTOGRAM.count, count);
  if (sum !== undefined) writer.double(HISTOGRAM.sum, sum);
  writer.packed(HISTOGRAM.bucketCounts, buckets.counts, 'fixed64');
  writer.packed(HISTOGRAM.explicitBounds, buckets.boundaries, 'double');
}

function writeExponential(writer: MessageWriter, value: ExponentialHistogram): void {
  writer.fixed64(EXPONENTIAL.count, value.count);
  if (value.sum !== undefined) writer.double(EXPONENTIAL.sum, value.sum);
  writer.sint32(EXPONENTIAL.scale, value.scale);
  writer.fixed64(EXPONENTIAL.zeroCount, value.zeroCount);
  writeBuckets(writer, EXPONENTIAL.positive, value.positive);
  writeBuckets(writer, EXPONENTIAL.negative, value.negative);
}

function writeBuckets(
  writer: MessageWriter,
  field: MessageField,
  { offset, bucketCounts }: ExponentialHistogram['positive'],
): void {
  const buckets = writer.open(field);
  writer.sint32(BUCKETS.offset, offset);
  writer.packed(BUCKETS.bucketCounts, bucketCounts, 'varint');
  writer.close(field, buckets);
}

function writeRange(
  writer: MessageWriter,
  fields: { readonly min: Field; readonly max: Field },
  { min, max }: Pick<Histogram, 'min' | 'max'>,
): void {
  if (min !== undefined) writer.double(fields.min, min);
  if (max !== undefined) writer.double(fields.max, max);
}

function writeIntExemplar(writer: MessageWriter, exemplar: Exemplar): void {
  writer.fixed64(EXEMPLAR.asInt, exemplar.value);
  writeExemplar(writer, exemplar);
}

function writeDoubleExemplar(writer: MessageWriter, exemplar: Exemplar): void {
  writer.double(EXEMPLAR.asDouble, exemplar.value);
  writeExemplar(writer, exemplar);
}

function writeExemplar(writer: MessageWriter, { timeMs, context }: Exemplar): void {
  writer.time(EXEMPLAR.timeUnixNano, timeMs);
  if (context.traceId !== '') {
    writer.hex(EXEMPLAR.spanId, context.spanId);
    writer.hex(EXEMPLAR.traceId, context.traceId);
  }
  writeAttributes(writer, EXEMPLAR.filteredAttributes, context.attributes);
}
