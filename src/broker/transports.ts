/** The one list of transports: a scheme that is not a row here cannot be listened to. */
import { createAmqpTransport } from './amqp/transport.ts';
import type { BrokerSettings, Transport } from './broker.ts';
import type { BrokerUrl } from './broker-url.ts';
import type { ListeningClock } from './listening-clock.ts';
import { createRecordingTransport } from './recording/transport.ts';

type CreateTransport = (settings: BrokerSettings, listening: ListeningClock) => Transport;

/**
 * One maker per scheme of address. A listener has transports of its own, since a replay has a clock; live ones share the
 * listening clock of the listener.
 */
export type Transports = Readonly<Record<BrokerUrl['scheme'], CreateTransport>>;

const amqp: CreateTransport = (settings, listening) => createAmqpTransport(settings.amqp, listening);

export const TRANSPORTS: Transports = { amqp, amqps: amqp, recording: createRecordingTransport };
