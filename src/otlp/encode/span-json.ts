/**
 * Encodes spans as JSON with the SDK’s serializer. That writes whole numbers as integers; here, attributes that are fractions stay
 * doubles. Pure.
 */
import { JsonTraceSerializer } from '@opentelemetry/otlp-transformer';
import { DOUBLE_ATTRIBUTES } from '../../tracer/span-attributes.ts';
import type { ReadableSpan } from './readable-span.ts';

/** Within the values of JSON, quotes are escaped, so only the key of an attribute matches. */
const WHOLE_DOUBLE = new RegExp(
  `("key":"(?:${[...DOUBLE_ATTRIBUTES].join('|').replaceAll('.', '\\.')})","value":\\{)"intValue":"?(-?\\d+)"?\\}`,
  'gu',
);

export function spansAsJson(spans: ReadableSpan[]): Uint8Array | undefined {
  const json = JsonTraceSerializer.serializeRequest(spans);
  if (json === undefined) return undefined;
  const text = new TextDecoder().decode(json);
  return new TextEncoder().encode(text.replaceAll(WHOLE_DOUBLE, '$1"doubleValue":$2}'));
}
