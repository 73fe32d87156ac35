/**
 * Reads `google.rpc.Status`, with which OTLP backends explain a failure: in the body of an HTTP response, or in the gRPC
 * trailer `grpc-status-details-bin`. Only the message and the retry delay are read. Pure.
 */
import protobuf from 'protobufjs/light.js';

export interface RpcStatus {
  /** '' if there is no message. */
  readonly message: string;
  /** The delay of `RetryInfo`: 0 if that has none; undefined without `RetryInfo`. */
  readonly retryDelayMs: number | undefined;
}

/** Only the fields that are read are declared; all others are skipped. */
const messages = protobuf.Root.fromJSON({
  nested: {
    // google/rpc/status.proto
    Status: {
      fields: { message: { type: 'string', id: 2 }, details: { type: 'Any', id: 3, rule: 'repeated' } },
    },
    // google/protobuf/any.proto
    Any: { fields: { typeUrl: { type: 'string', id: 1 }, value: { type: 'bytes', id: 2 } } },
    // google/rpc/error_details.proto
    RetryInfo: { fields: { retryDelay: { type: 'Duration', id: 1 } } },
    // google/protobuf/duration.proto
    Duration: { fields: { seconds: { type: 'int64', id: 1 }, nanos: { type: 'int32', id: 2 } } },
  },
});

interface Detail {
  readonly typeUrl: string;
  readonly value: Uint8Array;
}

/** @returns undefined if the bytes are not a valid message */
export function readRpcStatus(bytes: Uint8Array): RpcStatus | undefined {
  try {
    const { message, details } = decode('Status', bytes);
    const isRetryInfo = ({ typeUrl }: Detail) => typeUrl.endsWith('/google.rpc.RetryInfo');
    const retryInfo: Detail | undefined = details.find(isRetryInfo);
    return { message, retryDelayMs: retryInfo && delayMs(retryInfo) };
  } catch {
    // Not protobuf: proxies and gateways return other content.
    return undefined;
  }
}

function delayMs({ value }: Detail): number {
  const { retryDelay } = decode('RetryInfo', value);
  return retryDelay === null ? 0 : Math.max(0, retryDelay.seconds * 1000 + retryDelay.nanos / 1e6);
}

/** @throws Error if the bytes are not a valid message */
function decode(type: string, bytes: Uint8Array) {
  const message = messages.lookupType(type);
  return message.toObject(message.decode(bytes), { longs: Number, defaults: true });
}
