/**
 * One RabbitMQ and one Redis for all tests of a file, with as many isolated clusters on them as the tests request, on either
 * broker. It starts no worker.
 */
import { after, before } from 'node:test';
import type { CeleryFlavour, Cluster } from '../real/celery.ts';
import { type RabbitMq, startRabbitmq } from '../real/rabbitmq.ts';
import { type Redis, startRedis } from '../real/redis.ts';

/** The broker of a cluster; results are in Redis in any case. */
export type BrokerName = 'RabbitMQ' | 'Redis';

/** A cluster with the Celery that its clients have. */
export interface ShopCluster extends Cluster {
  readonly flavour: CeleryFlavour;
}

/** Starts the brokers before the tests of this file and stops them after; to be called once, outside of any test. */
export function shopClusters(): (flavour: CeleryFlavour, broker?: BrokerName) => Promise<ShopCluster> {
  let rabbitmq: RabbitMq | undefined;
  let redis: Redis | undefined;
  let clusters = 0;
  before(async () => {
    [rabbitmq, redis] = await Promise.all([startRabbitmq(), startRedis()]);
  });
  after(async () => {
    await Promise.all([rabbitmq?.remove(), redis?.stop()]);
  });
  return async (flavour, broker = 'RabbitMQ') => {
    if (rabbitmq === undefined || redis === undefined) throw new Error('only tests can have a cluster');
    clusters += 1;
    // A database: by default there are sixteen.
    const database = redis.url.replace(/0$/u, String(clusters));
    return {
      flavour,
      backend: database,
      broker: broker === 'Redis' ? database : await rabbitmq.addVhost(`cluster-${clusters}`),
    };
  };
}
