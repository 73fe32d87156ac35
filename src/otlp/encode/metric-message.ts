/**
 * Encodes metrics with exemplars or flags for OTLP (opentelemetry/proto/metrics/v1/metrics.proto). The SDK’s serializer
 * writes neither, so requests without them use that serializer. A test compares the two, field by field. Pure.
 */
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
import { writeResource, writeScope } from './otlp-request.ts';
import { ProtobufWriter } from './protobuf-writer.ts';

/** The metrics of a request. */
export interface RequestedMetrics extends ResourceMetrics {
  /** The exemplars of each point that has any. */
  readonly exemplars?: ReadonlyMap<DataPoint<unknown>, readonly Exemplar[]>;
  /** Whether all points are the final points of their series, without a value. */
  readonly haveEnded?: true;
}

/** `DATA_POINT_FLAGS_NO_RECORDED_VALUE_MASK`. */
export const NO_RECORDED_VALUE = 1;

/** The tags of the fields whose number depends on the kind of point. */
interface PointTags {
  readonly attributes: number;
  readonly exemplar: number;
  readonly flags: number;
}

const OF_NUMBER: PointTags = { attributes: 0x3a, exemplar: 0x2a, flags: 0x40 };
const OF_HISTOGRAM: PointTags = { attributes: 0x4a, exemplar: 0x42, flags: 0x50 };
const OF_EXPONENTIAL: PointTags = { attributes: 0x0a, exemplar: 0x5a, flags: 0x50 };

/** The initial buffer size per point, which is enough for most. The buffer grows if needed. */
const POINT_BYTES = 1024;

export function encodeMetrics({ resource, scopeMetrics, ...more }: RequestedMetrics): Uint8Array {
  const points = scopeMetrics.flatMap(({ metrics }) => metrics.map(({ dataPoints }) => dataPoints.length));
  const writer = new ProtobufWriter(POINT_BYTES * points.reduce((sum, each) => sum + each, 1));
  writeResource(writer, resource, () => {
    for (const { scope, metrics } of scopeMetrics) {
      writeScope(writer, scope, () => {
        for (const metric of metrics) writeMetric(writer, metric, more);
      });
    }
  });
  return writer.finish();
}

function writeMetric(
  writer: ProtobufWriter,
  metric: MetricData,
  { exemplars, haveEnded }: Pick<RequestedMetrics, 'exemplars' | 'haveEnded'>,
): void {
  const { name, description, unit, valueType } = metric.descriptor;
  const isInt = valueType === ValueType.INT;
  const message = writer.open(0x12, 3);
  writer.text(0x0a, name);
  writer.text(0x12, description);
  writer.text(0x1a, unit);

  function writeData<V>(
    tag: number,
    points: readonly DataPoint<V>[],
    tags: PointTags,
    writeValue: (value: V) => void,
  ): void {
    const data = writer.open(tag, 3);
    for (const point of points) {
      const begin = writer.open(0x0a, 2);
      writer.hrTime(0x11, point.startTime);
      writer.hrTime(0x19, point.endTime);
      writeValue(point.value);
      writer.attributes(tags.attributes, point.attributes);
      for (const exemplar of exemplars?.get(point) ?? [])
        writeExemplar(writer, tags.exemplar, exemplar, isInt);
      if (haveEnded === true) writer.int(tags.flags, NO_RECORDED_VALUE);
      writer.close(begin, 2);
    }
    if (metric.dataPointType !== DataPointType.GAUGE) {
      writer.int(0x10, metric.aggregationTemporality === AggregationTemporality.DELTA ? 1 : 2);
    }
    if (metric.dataPointType === DataPointType.SUM && metric.isMonotonic) writer.int(0x18, 1);
    writer.close(data, 3);
  }

  const writeNumber = (value: number): void => {
    if (isInt) writer.fixed64(0x31, value);
    else writer.double(0x21, value);
  };
  switch (metric.dataPointType) {
    case DataPointType.GAUGE:
      writeData(0x2a, metric.dataPoints, OF_NUMBER, writeNumber);
      break;
    case DataPointType.SUM:
      writeData(0x3a, metric.dataPoints, OF_NUMBER, writeNumber);
      break;
    case DataPointType.HISTOGRAM:
      writeData(0x4a, metric.dataPoints, OF_HISTOGRAM, (value) => writeHistogram(writer, value));
      break;
    case DataPointType.EXPONENTIAL_HISTOGRAM:
      writeData(0x52, metric.dataPoints, OF_EXPONENTIAL, (value) => writeExponential(writer, value));
      break;
  }
  writer.close(message, 3);
}

function writeHistogram(writer: ProtobufWriter, { count, sum, buckets, min, max }: Histogram): void {
  writer.fixed64(0x21, count);
  if (sum !== undefined) writer.double(0x29, sum);
  writer.packed(0x32, buckets.counts, 'fixed64');
  writer.packed(0x3a, buckets.boundaries, 'double');
  if (min !== undefined) writer.double(0x59, min);
  if (max !== undefined) writer.double(0x61, max);
}

function writeExponential(writer: ProtobufWriter, value: ExponentialHistogram): void {
  const { count, sum, scale, zeroCount, positive, negative, min, max } = value;
  writer.fixed64(0x21, count);
  if (sum !== undefined) writer.double(0x29, sum);
  writer.sint32(0x30, scale);
  writer.fixed64(0x39, zeroCount);
  for (const [tag, { offset, bucketCounts }] of [
    [0x42, positive],
    [0x4a, negative],
  ] as const) {
    const buckets = writer.open(tag, 2);
    writer.sint32(0x08, offset);
    writer.packed(0x12, bucketCounts, 'varint');
    writer.close(buckets, 2);
  }
  if (min !== undefined) writer.double(0x61, min);
  if (max !== undefined) writer.double(0x69, max);
}

function writeExemplar(writer: ProtobufWriter, tag: number, exemplar: Exemplar, isInt: boolean): void {
  const { value, timeMs, context } = exemplar;
  const message = writer.open(tag);
  writer.time(0x11, timeMs);
  if (isInt) writer.fixed64(0x31, value);
  else writer.double(0x19, value);
  if (context.traceId !== '') {
    writer.hex(0x22, context.spanId);
    writer.hex(0x2a, context.traceId);
  }
  writer.attributes(0x3a, context.attributes);
  writer.close(message);
}
