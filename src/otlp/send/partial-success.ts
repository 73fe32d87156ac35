/**
 * Reads from a backend's response what it did not take of a request, in either encoding. What is no response of OTLP says
 * nothing: the status alone decides whether a request was taken. Pure.
 */
import { parseJson, property } from './json-value.ts';
import type { Encoding, Signal } from './signal.ts';

type Reader = Pick<Signal<never>, 'decodeResponse' | 'rejectedField'>;

export interface PartialSuccess {
  /** 0: all was taken, and `message` is a warning. */
  readonly rejectedPoints: number;
  /** '' where the backend gives none. */
  readonly message: string;
}

/**
 * `partial_success` of a response; undefined for a full success, and one that is there but says
 * nothing is a full success, too (OTLP specification, "Partial Success").
 */
export function readPartialSuccess(
  response: Uint8Array,
  encoding: Encoding | undefined,
  { decodeResponse, rejectedField }: Reader,
): PartialSuccess | undefined {
  const partial = property(decode(response, encoding, decodeResponse), 'partialSuccess');
  const rejectedPoints = count(property(partial, rejectedField));
  const said = property(partial, 'errorMessage');
  const message = typeof said === 'string' ? said : '';
  return rejectedPoints === 0 && message === '' ? undefined : { rejectedPoints, message };
}

function decode(
  response: Uint8Array,
  encoding: Encoding | undefined,
  decodeResponse: Reader['decodeResponse'],
): unknown {
  switch (encoding) {
    case undefined:
      return undefined;
    case 'json':
      return parseJson(response);
    case 'protobuf':
      try {
        return decodeResponse(response);
      } catch {
        // No response of OTLP; some backends answer with a text.
        return undefined;
      }
  }
}

/** An int64 of JSON may be a decimal string; one that is negative or beyond all measure is no count. */
function count(value: unknown): number {
  const number = typeof value === 'string' ? Number(value) : value;
  return typeof number === 'number' && Number.isSafeInteger(number) && number > 0 ? number : 0;
}
