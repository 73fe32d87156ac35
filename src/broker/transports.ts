/** The table of transports, one for each row of `kinds.ts`. It is apart from them because the libraries take long to load. */
import { createAmqpTransport } from './amqp/transport.ts';
import type { BrokerSettings, Transport } from './broker.ts';
import type { KindName } from './kinds.ts';
import { createRecordingTransport } from './recording/transport.ts';
import { createRedisTransport } from './redis/transport.ts';
import type { ListeningClock } from './session/listening-clock.ts';

type CreateTransport = (settings: BrokerSettings, listening: ListeningClock) => Transport;

/** Each listener creates its own transports: a replay has its own clock, live ones share the listener’s. */
export type Transports = Readonly<Record<KindName, CreateTransport>>;

export const TRANSPORTS: Transports = {
  amqp: ({ eventExchange, amqp }, listening) => createAmqpTransport({ eventExchange, ...amqp }, listening),
  redis: ({ eventExchange, redis }, listening) =>
    createRedisTransport({ eventExchange, ...redis }, listening),
  recording: createRecordingTransport,
};
