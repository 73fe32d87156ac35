/** The one list of transports: a scheme that is not a row here cannot be listened to. */
import { createAmqpTransport } from './amqp.ts';
import type { Transport } from './broker.ts';
import type { BrokerUrl } from './broker-url.ts';
import { createRecordingTransport } from './recording.ts';

/** One maker per scheme of address; a listener has a transport of its own, since a transport may have a clock. */
export type Transports = Readonly<Record<BrokerUrl['scheme'], () => Transport>>;

export const TRANSPORTS: Transports = {
  amqp: createAmqpTransport,
  amqps: createAmqpTransport,
  recording: createRecordingTransport,
};
