/** AMQP transports for tests, with Celery’s defaults. */
import type { AmqpTransportSettings } from '../../../src/broker/amqp/topology.ts';
import { createAmqpTransport } from '../../../src/broker/amqp/transport.ts';
import type { Transport } from '../../../src/broker/broker.ts';
import { ListeningClock } from '../../../src/broker/session/listening-clock.ts';
import { SETTINGS } from '../broker-settings.ts';

const AMQP: AmqpTransportSettings = { eventExchange: SETTINGS.eventExchange, ...SETTINGS.amqp };

export function amqpTransport(settings: Partial<AmqpTransportSettings> = {}): Transport {
  return createAmqpTransport({ ...AMQP, ...settings }, new ListeningClock());
}
