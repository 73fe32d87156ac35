/** Redis transports for tests, with Celery’s defaults. */
import type { Transport } from '../../../src/broker/broker.ts';
import { createRedisTransport, type RedisTransportSettings } from '../../../src/broker/redis/transport.ts';
import { ListeningClock } from '../../../src/broker/session/listening-clock.ts';
import { SETTINGS } from '../broker-settings.ts';

export function redisTransport(settings: Partial<RedisTransportSettings> = {}): Transport {
  const defaults = { eventExchange: SETTINGS.eventExchange, ...SETTINGS.redis };
  return createRedisTransport({ ...defaults, ...settings }, new ListeningClock());
}
