/** The range of values that a point can hold, by the value type of its instrument. Pure. */
import { ValueType } from '@opentelemetry/api';
import type { MetricDescriptor } from '@opentelemetry/sdk-metrics';

/**
 * The largest absolute value of a point. Integers have 64 bits on the wire, but JavaScript numbers are exact only up to
 * 2^53 - 1: beyond that, a counter would miss increments, and JSON would lose digits.
 */
export function maxOf({ valueType }: MetricDescriptor): number {
  return valueType === ValueType.INT ? Number.MAX_SAFE_INTEGER : Number.MAX_VALUE;
}
