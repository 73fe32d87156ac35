/** AMQP transports for tests, with Celery’s defaults. */
import { createAmqpTransport } from '../../../src/broker/amqp/transport.ts';
import type { AmqpSettings, Transport } from '../../../src/broker/broker.ts';
import { ListeningClock } from '../../../src/broker/listening-clock.ts';

export const AMQP: AmqpSettings = {
  eventExchange: 'celeryev',
  eventQueuePrefix: 'celeryev',
  eventQueueBytesMax: 67_108_864,
  heartbeatS: 30,
};

export function amqpTransport(settings: Partial<AmqpSettings> = {}): Transport {
  return createAmqpTransport({ ...AMQP, ...settings }, new ListeningClock());
}
