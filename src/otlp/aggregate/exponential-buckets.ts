/**
 * The base-2 exponential bucket histogram aggregation: counts per bucket, which widen as the values spread (metrics SDK
 * specification, "Base2 Exponential Bucket Histogram Aggregation").
 */
import { DataPointType, type ExponentialHistogram } from '@opentelemetry/sdk-metrics';
import type { Aggregation } from './aggregation.ts';
import { FINEST_SCALE, ScaledCounts } from './exponential-scale.ts';
import { HistogramAccumulation } from './histogram.ts';

export interface ExponentialBucketsOptions {
  /** Maximum of buckets, without the zero bucket: an integer from 2. */
  readonly maxSize?: number;
  /** The initial scale: an integer from -10, at which two buckets hold all values, to 20. */
  readonly maxScale?: number;
  /** Whether points have a min and a max. */
  readonly recordMinMax?: boolean;
}

export function exponentialBuckets({
  maxSize = 160,
  maxScale = FINEST_SCALE,
  recordMinMax = true,
}: ExponentialBucketsOptions = {}): Aggregation<ExponentialHistogram> {
  return {
    isMonotonic: true,
    buckets: maxSize,
    begin: (max) => new HistogramAccumulation(new ScaledCounts(maxSize, maxScale), recordMinMax, max),
    metric: (stream, dataPoints) => ({
      ...stream,
      dataPointType: DataPointType.EXPONENTIAL_HISTOGRAM,
      dataPoints,
    }),
  };
}
