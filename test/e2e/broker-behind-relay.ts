/**
 * A broker that cannot be reached at times, as its clients see it: a relay before one that others may use too. What a broker does itself when
 * it stops (it keeps or forgets, it says goodbye) needs a broker of the test's own.
 */
import type { TestContext } from 'node:test';
import { startRelay } from '../broker/relay.ts';
import { type Broker, type BrokerName, borrowBroker } from '../real/brokers.ts';

/** @returns one that can be reached, until it is stopped */
export async function borrowBehindRelay(t: TestContext, name: BrokerName): Promise<Broker> {
  const broker = await borrowBroker(name);
  const { port } = new URL(broker.url);
  const relay = await startRelay(t, Number(port));
  return {
    url: broker.url.replace(`:${port}`, `:${relay.port}`),
    stop: async () => relay.cut(),
    start: async () => relay.restore(),
    remove: () => broker.remove(),
  };
}
