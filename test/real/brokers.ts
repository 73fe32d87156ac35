/** A broker of either kind, for tests whose subject is the same on both. */
import { borrowRabbitmq } from './lent-rabbitmq.ts';
import { startRabbitmq } from './rabbitmq.ts';
import { startRedis } from './redis.ts';

export const BROKER_NAMES = ['RabbitMQ', 'Redis'] as const;
export type BrokerName = (typeof BROKER_NAMES)[number];

/** What tests do with any broker. */
export interface Broker {
  /** For Celery and for the bridge. */
  readonly url: string;
  /** Shuts it down; resolves when its port is closed. */
  stop(): Promise<void>;
  /** Starts a stopped broker on the same port. */
  start(): Promise<void>;
  /** Stops it if it runs, and removes its files. */
  remove(): Promise<void>;
}

const STARTS: Readonly<Record<BrokerName, () => Promise<Broker>>> = {
  RabbitMQ: () => startRabbitmq(),
  async Redis() {
    const redis = await startRedis();
    return {
      url: redis.url,
      // A clean end would not differ: it stores nothing.
      stop: () => redis.kill(),
      start: () => redis.start(),
      remove: () => redis.stop(),
    };
  },
};

/** Resolves once it takes connections. */
export function startBroker(name: BrokerName): Promise<Broker> {
  return STARTS[name]();
}

/** As {@link startBroker}, for a test that does not stop it: then it need not be its own. */
export function borrowBroker(name: BrokerName): Promise<Pick<Broker, 'url' | 'remove'>> {
  return name === 'RabbitMQ' ? borrowRabbitmq() : startBroker(name);
}
