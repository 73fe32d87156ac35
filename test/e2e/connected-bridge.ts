/** A bridge that is connected to a broker of its own, for messages that a test publishes itself. */
import type { TestContext } from 'node:test';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { type BrokerName, borrowBroker } from '../real/brokers.ts';
import { startBridge } from './bridge-process.ts';

export async function startConnected(t: TestContext, name: BrokerName) {
  const broker = await borrowBroker(name);
  t.after(() => broker.remove());
  const sink = await startReceiver();
  t.after(() => sink.stop());
  const bridge = startBridge(t, {
    CELERY_BROKER_URL: broker.url,
    OTEL_SERVICE_NAME: 'shop',
    OTEL_EXPORTER_OTLP_ENDPOINT: sink.url,
    OTEL_METRIC_EXPORT_INTERVAL: '1000',
  });
  await bridge.logged(/connected to/u);
  return { url: broker.url, sink, bridge };
}
