/**
 * One Redis for all tests of a file, and the RabbitMQ of this run, with as many isolated clusters on them as the tests request,
 * on either broker. It starts no worker.
 */
import { after, before } from 'node:test';
import type { BrokerName } from '../real/brokers.ts';
import { type CeleryFlavour, type Cluster, celeryFlavours } from '../real/celery.ts';
import { borrowRabbitmq, type Vhosts } from '../real/lent-rabbitmq.ts';
import { type Redis, startRedis } from '../real/redis.ts';

/** A cluster with the Celery that its clients have. */
export interface ShopCluster extends Cluster {
  readonly flavour: CeleryFlavour;
}

/** A kind of cluster to test with. */
export interface ClusterKind {
  readonly flavour: CeleryFlavour;
  /** Results are in Redis in any case. */
  readonly broker: BrokerName;
}

/** Each Celery and each broker once: that every Celery is understood on either is tested with the outcomes of all tasks. */
export function clusterKinds(): readonly ClusterKind[] {
  const [oldest, newest = oldest] = celeryFlavours();
  return [
    { flavour: oldest, broker: 'RabbitMQ' },
    { flavour: newest, broker: 'Redis' },
  ];
}

/** Starts the brokers before the tests of this file and stops them after; to be called once, outside of any test. */
export function shopClusters(): (flavour: CeleryFlavour, broker?: BrokerName) => Promise<ShopCluster> {
  let rabbitmq: Vhosts | undefined;
  let redis: Redis | undefined;
  let clusters = 0;
  before(async () => {
    [rabbitmq, redis] = await Promise.all([borrowRabbitmq(), startRedis()]);
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
