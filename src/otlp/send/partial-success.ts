/**
 * Reads the partial success from a response in either encoding. A body that is not an OTLP response is ignored, since the
 * HTTP or gRPC status alone says whether the request succeeded. Pure.
 */
import { parseJson, property } from './json-value.ts';
import type { Encoding, Signal } from './signal.ts';

type Reader = Pick<Signal<never>, 'decodeResponse' | 'rejectedField'>;

/**
 * The `partial_success` of a response; undefined for a full success. An empty `partial_success` is a full success, too (OTLP
 * specification, "Partial Success").
 */
export function readPartialSuccess(
  response: Uint8Array,
  encoding: Encoding | undefined,
  { decodeResponse, rejectedField }: Reader,
) {
  const partial = property(decode(response, encoding, decodeResponse), 'partialSuccess');
  const rejectedItems = count(property(partial, rejectedField));
  const text = property(partial, 'errorMessage');
  const message = typeof text === 'string' ? text : '';
  return rejectedItems === 0 && message === '' ? undefined : { rejectedItems, message };
}

function decode(
  response: Uint8Array,
  encoding: Encoding | undefined,
  decodeResponse: Reader['decodeResponse'],
): unknown {
  if (encoding === 'json') return parseJson(response);
  try {
    return encoding === 'protobuf' ? decodeResponse(response) : undefined;
  } catch {
    // Not an OTLP response: some backends return text.
    return undefined;
  }
}

/** In JSON, an int64 may be a decimal string. Negative and unsafe integers count as 0. */
function count(value: unknown): number {
  const number = typeof value === 'string' ? Number(value) : value;
  return typeof number === 'number' && Number.isSafeInteger(number) && number > 0 ? number : 0;
}
