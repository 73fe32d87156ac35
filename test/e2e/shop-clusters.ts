/**
 * One RabbitMQ and one Redis for all tests of a file, with as many isolated clusters on them as the tests request. It
 * starts no worker.
 */
import { after, before } from 'node:test';
import type { CeleryFlavour, Cluster } from '../real/celery.ts';
import { type RabbitMq, startRabbitmq } from '../real/rabbitmq.ts';
import { type Redis, startRedis } from '../real/redis.ts';

/** A cluster with the Celery that its clients have. */
export interface ShopCluster extends Cluster {
  readonly flavour: CeleryFlavour;
}

/** Starts the brokers before the tests of this file and stops them after; to be called once, outside of any test. */
export function shopClusters(): (flavour: CeleryFlavour) => Promise<ShopCluster> {
  let rabbitmq: RabbitMq | undefined;
  let redis: Redis | undefined;
  let clusters = 0;
  before(async () => {
    [rabbitmq, redis] = await Promise.all([startRabbitmq(), startRedis()]);
  });
  after(async () => {
    await Promise.all([rabbitmq?.remove(), redis?.stop()]);
  });
  return async (flavour) => {
    if (rabbitmq === undefined || redis === undefined) throw new Error('only tests can have a cluster');
    clusters += 1;
    return {
      flavour,
      // Of Redis, a database: by default there are sixteen.
      backend: redis.url.replace(/0$/u, String(clusters)),
      broker: await rabbitmq.addVhost(`cluster-${clusters}`),
    };
  };
}
