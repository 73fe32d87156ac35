/** The one list of transports: a scheme that is not a row here cannot be listened to. */
import { createAmqpTransport } from './amqp.ts';
import type { Transport } from './broker.ts';
import type { BrokerUrl } from './broker-url.ts';
import type { ListeningClock } from './listening-clock.ts';
import { createRecordingTransport } from './recording.ts';

/**
 * One maker per scheme of address. A listener has transports of its own, since a replay has a clock; live ones share the
 * listening clock of the listener.
 */
export type Transports = Readonly<Record<BrokerUrl['scheme'], (listening: ListeningClock) => Transport>>;

export const TRANSPORTS: Transports = {
  amqp: createAmqpTransport,
  amqps: createAmqpTransport,
  recording: createRecordingTransport,
};
