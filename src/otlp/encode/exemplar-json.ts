/**
 * Adds exemplars and flags to a metrics request in JSON, which the SDK writes without them. Field names follow the JSON encoding
 * of OTLP. Pure.
 */
import { ValueType } from '@opentelemetry/api';
import type { Exemplar } from '../aggregate/reservoir.ts';
import { hrTimeOf } from './epoch-time.ts';
import { NO_RECORDED_VALUE, type RequestedMetrics } from './metric-message.ts';

/** @param json the same metrics, as written by the SDK: it has all points in the same order */
export function withExemplarsAndFlags(
  json: Uint8Array,
  { scopeMetrics, exemplars, haveEnded }: RequestedMetrics,
): Uint8Array {
  const request: unknown = JSON.parse(new TextDecoder().decode(json));
  const written = listIn(listIn(request, 'resourceMetrics')[0], 'scopeMetrics');
  for (const [scope, { metrics }] of scopeMetrics.entries()) {
    for (const [index, { descriptor, dataPoints }] of metrics.entries()) {
      const isInt = descriptor.valueType === ValueType.INT;
      // Only the data field of a metric (`sum`, `gauge` and so on) has points.
      const data = Object.values(listIn(written[scope], 'metrics')[index] ?? {});
      const points = data.flatMap((each) => listIn(each, 'dataPoints'));
      for (const [at, point] of dataPoints.entries()) {
        const of = exemplars?.get(point)?.map((each) => exemplarOf(each, isInt));
        if (of !== undefined) Object.assign(points[at] ?? {}, { exemplars: of });
        if (haveEnded === true) Object.assign(points[at] ?? {}, { flags: NO_RECORDED_VALUE });
      }
    }
  }
  return new TextEncoder().encode(JSON.stringify(request));
}

function listIn(holder: unknown, key: string): readonly object[] {
  const list: unknown = typeof holder === 'object' && holder !== null ? Reflect.get(holder, key) : undefined;
  return Array.isArray(list) ? list : [];
}

function exemplarOf({ value, timeMs, context }: Exemplar, isInt: boolean) {
  const { traceId, spanId, attributes } = context;
  const [seconds, nanos] = hrTimeOf(timeMs);
  const filtered = Object.entries(attributes);
  return {
    timeUnixNano: `${BigInt(seconds) * 1_000_000_000n + BigInt(nanos)}`,
    ...(isInt ? { asInt: `${value}` } : { asDouble: value }),
    ...(traceId !== '' && { spanId, traceId }),
    ...(filtered.length > 0 && {
      filteredAttributes: filtered.map(([key, each]) => ({ key, value: { stringValue: String(each) } })),
    }),
  };
}
