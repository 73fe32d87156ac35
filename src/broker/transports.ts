/** The table of transports: the schemes that broker addresses can have. */
import { createAmqpTransport } from './amqp/transport.ts';
import type { BrokerSettings, Transport } from './broker.ts';
import type { BrokerUrl } from './broker-url.ts';
import { createRecordingTransport } from './recording/transport.ts';
import { createRedisTransport } from './redis/transport.ts';
import type { ListeningClock } from './session/listening-clock.ts';

type CreateTransport = (settings: BrokerSettings, listening: ListeningClock) => Transport;

/** Each listener creates its own transports: a replay has its own clock, live ones share the listener’s. */
export type Transports = Readonly<Record<BrokerUrl['scheme'], CreateTransport>>;

const amqp: CreateTransport = ({ eventExchange, amqp: settings }, listening) =>
  createAmqpTransport({ eventExchange, ...settings }, listening);

const redis: CreateTransport = ({ eventExchange, redis: settings }, listening) =>
  createRedisTransport({ eventExchange, ...settings }, listening);

export const TRANSPORTS: Transports = {
  amqp,
  amqps: amqp,
  redis,
  rediss: redis,
  'redis+socket': redis,
  sentinel: redis,
  recording: createRecordingTransport,
};
