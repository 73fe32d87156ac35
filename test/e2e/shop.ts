/**
 * The shop of a test: clusters on brokers that its file shares, workers that end with the test, and a bridge with a receiver of its metrics.
 * The tasks that can be sent are those of `examples/shop` (`shop-tasks.ts`). It judges nothing.
 */
import { after, before } from 'node:test';
import type { Point } from '../../examples/demo/otlp-points.ts';
import { type Receiver, type ReceiverOptions, startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { type BrokerName, borrowBroker } from '../real/brokers.ts';
import {
  type CeleryFlavour,
  type CeleryWorker,
  type Cluster,
  celeryFlavours,
  startWorker,
  type WorkerOptions,
} from '../real/celery.ts';
import { borrowRabbitmq, type Vhosts } from '../real/lent-rabbitmq.ts';
import { type Redis, startRedis } from '../real/redis.ts';
import { type BridgeProcess, type Ending, startBridge } from './bridge-process.ts';

/** So that what workers and the broker are asked is known soon. */
export const ASK_OFTEN = {
  CELERY_OTEL_COLLECTION_INTERVAL: '0.5',
  CELERY_OTEL_INITIAL_DELAY: '0.1',
} as const;

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

/** Starts a worker, which is killed at the end of the test. */
export async function employ(t: Ending, options: WorkerOptions): Promise<CeleryWorker> {
  const worker = await startWorker(options);
  t.after(() => worker.kill());
  return worker;
}

/** A bridge, and what it exports. */
export interface Watch {
  readonly bridge: BridgeProcess;
  readonly sink: Receiver;
  /** Resolves with the newest export once that satisfies the condition: of the service, or of the bridge itself. */
  until(
    condition: (points: readonly Point[]) => boolean,
    of?: 'shop' | 'celery-otel',
  ): Promise<readonly Point[]>;
}

/**
 * Starts a bridge that exports the service `shop` twice a second, and resolves once it is connected.
 * @param broker its URL
 * @param env more options, or others
 */
export async function watch(
  t: Ending,
  broker: string,
  env: Readonly<Record<string, string>> = {},
  options: ReceiverOptions = {},
): Promise<Watch> {
  const sink = await startReceiver(options);
  t.after(() => sink.stop());
  const bridge = startBridge(t, {
    CELERY_BROKER_URL: broker,
    OTEL_SERVICE_NAME: 'shop',
    OTEL_EXPORTER_OTLP_ENDPOINT: sink.url,
    OTEL_METRIC_EXPORT_INTERVAL: '500',
    ...env,
  });
  await bridge.logged(/connected to/u);
  return { bridge, sink, until: (condition, of = 'shop') => sink.waitFor(of, condition, DEADLINE_MS) };
}

/** As {@link watch}, with a broker that the test has for itself, for messages that it publishes. */
export async function watchBroker(t: Ending, name: BrokerName) {
  const broker = await borrowBroker(name);
  t.after(() => broker.remove());
  return { url: broker.url, ...(await watch(t, broker.url, { OTEL_METRIC_EXPORT_INTERVAL: '1000' })) };
}
