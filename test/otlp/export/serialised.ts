/** A request in each encoding. */
import type { RequestedMetrics } from '../../../src/otlp/encode/metric-message.ts';
import type { Encoding } from '../../../src/otlp/send/signal.ts';
import { SIGNALS } from '../../../src/otlp/signals.ts';

export type { Encoding };
export const ENCODINGS: readonly Encoding[] = ['protobuf', 'json'];

export function serialised(metrics: RequestedMetrics, encoding: Encoding): Uint8Array {
  return SIGNALS.metrics.encode[encoding](metrics);
}
