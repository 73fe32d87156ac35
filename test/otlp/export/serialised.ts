/** The real size of a request in each encoding. Without exemplars it is what the SDK writes. */
import type { RequestedMetrics } from '../../../src/otlp/encode/metric-message.ts';
import type { Encoding } from '../../../src/otlp/send/signal.ts';
import { SIGNALS } from '../../../src/otlp/signals.ts';

export type { Encoding };
export const ENCODINGS: readonly Encoding[] = ['protobuf', 'json'];

/** @throws where nothing could be made of it */
export function serialised(metrics: RequestedMetrics, encoding: Encoding): Uint8Array {
  const body = SIGNALS.metrics.encode[encoding](metrics);
  if (body === undefined) throw new Error(`nothing was serialised as ${encoding}`);
  return body;
}
