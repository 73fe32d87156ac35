/**
 * Reads `google.rpc.Status`, as which OTLP backends explain a failure: the body of an HTTP answer, or the trailer
 * `grpc-status-details-bin`. It reads the message and when to come again, and passes over the rest. Pure.
 */

export interface RpcStatus {
  /** '' where there is none. */
  readonly message: string;
  /** Of a `RetryInfo` among the details, 0 if that names no delay; undefined: there is none. */
  readonly retryDelayMs: number | undefined;
}

/** Values of a message by field number, those of the wire types 0 (a number) and 2 (bytes). */
type Fields = ReadonlyMap<number, readonly (number | Uint8Array)[]>;

/** Field numbers of google/rpc/status.proto, error_details.proto, google/protobuf/any.proto and duration.proto. */
const STATUS = { message: 2, details: 3 } as const;
const ANY = { typeUrl: 1, value: 2 } as const;
const RETRY_INFO = { retryDelay: 1 } as const;
const DURATION = { seconds: 1, nanos: 2 } as const;

/** Of the tenth and last byte of a number of 64 bits. */
const VARINT_FACTOR_MAX = 2 ** 63;

/** Undefined where the bytes are no protobuf message. */
export function readRpcStatus(bytes: Uint8Array): RpcStatus | undefined {
  try {
    const status = readFields(bytes);
    const details = listOf(status, STATUS.details).map(readFields);
    const retry = details.find((detail) => textOf(detail, ANY.typeUrl).endsWith('/google.rpc.RetryInfo'));
    return {
      message: textOf(status, STATUS.message),
      retryDelayMs: retry === undefined ? undefined : delayMs(retry),
    };
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function delayMs(retry: Fields): number {
  const [info] = listOf(retry, ANY.value);
  const [delay] = info === undefined ? [] : listOf(readFields(info), RETRY_INFO.retryDelay);
  if (delay === undefined) return 0;
  const duration = readFields(delay);
  return numberOf(duration, DURATION.seconds) * 1000 + numberOf(duration, DURATION.nanos) / 1e6;
}

/** @throws RangeError where the bytes end too early, or have a wire type that nobody writes any more */
function readFields(bytes: Uint8Array): Fields {
  const fields = new Map<number, (number | Uint8Array)[]>();
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let factor = 1; factor <= VARINT_FACTOR_MAX; factor *= 128) {
      const byte = bytes[at];
      if (byte === undefined) throw new RangeError('it ends within a number');
      at += 1;
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
    throw new RangeError('a number is too long');
  };
  const slice = (length: number): Uint8Array => {
    if (at + length > bytes.length) throw new RangeError('it ends within a field');
    at += length;
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    const tag = varint();
    const value = readValue(tag % 8, varint, slice);
    const number = Math.floor(tag / 8);
    if (value === undefined) continue;
    const values = fields.get(number);
    if (values === undefined) fields.set(number, [value]);
    else values.push(value);
  }
  return fields;
}

function readValue(
  wireType: number,
  varint: () => number,
  slice: (length: number) => Uint8Array,
): number | Uint8Array | undefined {
  switch (wireType) {
    case 0:
      return varint();
    case 1:
      slice(8);
      return undefined;
    case 2:
      return slice(varint());
    case 5:
      slice(4);
      return undefined;
    default:
      throw new RangeError(`wire type ${wireType}`);
  }
}

function listOf(fields: Fields, number: number): readonly Uint8Array[] {
  return (fields.get(number) ?? []).filter((value) => typeof value !== 'number');
}

function textOf(fields: Fields, number: number): string {
  return new TextDecoder().decode(listOf(fields, number).at(-1));
}

/** 0 where it is missing, or negative: that is written as a number beyond what is safe. */
function numberOf(fields: Fields, number: number): number {
  const value = fields.get(number)?.findLast((one) => typeof one === 'number');
  return Number.isSafeInteger(value) ? Number(value) : 0;
}
