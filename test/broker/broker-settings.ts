/** The settings of brokers with Celery’s defaults, for tests. */
import type { BrokerSettings } from '../../src/broker/broker.ts';
import type { RedisSettings } from '../../src/broker/redis/settings.ts';

const REDIS: RedisSettings = {
  masterName: '',
  sentinel: { username: undefined, password: undefined, tls: undefined },
  globalKeyprefix: '',
  fanoutPrefix: '/{db}.',
  fanoutPatterns: true,
  clientName: 'celery-otel',
  socketKeepalive: true,
  healthCheckIntervalMs: 25_000,
  socketTimeoutMs: 5000,
};

export const SETTINGS: Omit<BrokerSettings, 'urls' | 'connectTimeoutMs'> = {
  failoverStrategy: 'round-robin',
  eventExchange: 'celeryev',
  amqp: { eventQueuePrefix: 'celeryev', eventQueueBytesMax: 67_108_864, heartbeatS: 30 },
  redis: REDIS,
};
