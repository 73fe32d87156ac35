/** Which numbers a point can have, by the type that its instrument says. Pure. */
import { ValueType } from '@opentelemetry/api';
import type { MetricDescriptor } from '@opentelemetry/sdk-metrics';

/**
 * How far from 0. Whole numbers are of 64 bits on the wire, but the last one that a JavaScript number tells from its
 * neighbours is 2^53 - 1: beyond it a counter would miss what is added, and JSON would not have its digits.
 */
export function maxOf({ valueType }: MetricDescriptor): number {
  return valueType === ValueType.INT ? Number.MAX_SAFE_INTEGER : Number.MAX_VALUE;
}
