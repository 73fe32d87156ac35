/**
 * A backend outage while the cluster works, in each of the ways in which backends fail. Nothing that was counted is lost or counted
 * twice. Five minutes at a thousand events a second, compressed in time:
 *
 *     EVENTS=300000 npm test -- test/e2e/outage.test.ts
 */
import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import { status } from '@grpc/grpc-js';
import { type Receiver, type ReceiverOptions, startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { borrowRabbitmq, type Vhosts } from '../real/lent-rabbitmq.ts';
import { until } from '../until.ts';
import { startBridge } from './bridge-process.ts';
import { event, publishRaw, type RawPublish } from './publish.ts';
import { receivedTotals } from './received-totals.ts';

const EVENTS = Number(process.env['EVENTS'] ?? 30_000);
const PORTIONS = 30;
const EVENTS_A_MESSAGE = 50;
const TASKS = 50;
/** The time for a request: even on a busy machine, none that arrived is taken for failed and sent again. */
const EXPORT_INTERVAL_MS = 3000;

type Away = 'nobody listens' | 'UNAVAILABLE' | 'INVALID_ARGUMENT' | 'RESOURCE_EXHAUSTED';

const REFUSALS = {
  UNAVAILABLE: { code: status.UNAVAILABLE, details: 'come again' },
  INVALID_ARGUMENT: { code: status.INVALID_ARGUMENT, details: 'never' },
  RESOURCE_EXHAUSTED: { code: status.RESOURCE_EXHAUSTED, details: 'too much' },
} as const;

/** A backend that can fail in several ways, on one port. */
async function openBackend(t: TestContext, onExport: NonNullable<ReceiverOptions['onExport']>) {
  let away: Away | undefined;
  const refuse = () => (away === undefined || away === 'nobody listens' ? undefined : REFUSALS[away]);
  let receiver: Receiver | undefined = await startReceiver({ onExport, refuse });
  const { port, url } = receiver;
  t.after(() => receiver?.stop());
  return {
    url,
    async be(how: Away | undefined) {
      away = how;
      if (how === 'nobody listens') {
        await receiver?.stop();
        receiver = undefined;
      } else receiver ??= await startReceiver({ port, onExport, refuse });
    },
  };
}

let rabbitmq: Vhosts;
before(async () => {
  rabbitmq = await borrowRabbitmq();
});
after(() => rabbitmq?.remove());

describe('an unavailable backend', { concurrency: 2 }, () => {
  for (const temporality of ['cumulative', 'delta'] as const) {
    test(`${EVENTS} events during outages of different kinds are all in the totals, ${temporality}`, async (t) => {
      const brokerUrl = await rabbitmq.addVhost(temporality);
      const totals = receivedTotals();
      const backend = await openBackend(t, ({ points }) => totals.take(points));
      const bridge = startBridge(t, {
        CELERY_BROKER_URL: brokerUrl,
        OTEL_SERVICE_NAME: 'shop',
        OTEL_EXPORTER_OTLP_ENDPOINT: backend.url,
        OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE: temporality,
        OTEL_METRIC_EXPORT_INTERVAL: String(EXPORT_INTERVAL_MS),
      });
      await bridge.logged(/connected to/u);
      const sent = () => totals.of('shop', 'celery.task.sent');
      const ownCount = () => totals.of('celery-otel', 'celery_otel.events');
      const reaches = async (amount: number, count = sent): Promise<void> => {
        await until(`${amount} are counted`, () => count() >= amount, count);
        assert.equal(count(), amount);
      };
      await publishRaw(brokerUrl, sentEvents(1000));
      await reaches(1000);

      let published = 1000;
      const ways: readonly Away[] = [
        'nobody listens',
        'UNAVAILABLE',
        'INVALID_ARGUMENT',
        'RESOURCE_EXHAUSTED',
      ];
      for (const way of ways) {
        await backend.be(way);
        // Requests in flight at that time may have arrived.
        await bridge.logged(/export to \S+ \(grpc\) failed/u);
        const before = sent();
        const share = EVENTS / ways.length;
        for (let portion = 0; portion < PORTIONS; portion += 1) {
          await publishRaw(brokerUrl, sentEvents(share / PORTIONS));
          published += share / PORTIONS;
        }
        assert.equal(sent(), before, `nothing arrives while it is away: ${way}`);
        await backend.be(undefined);
        await reaches(published);
      }
      assert.equal(published, EVENTS + 1000);
      await bridge.logged(/exports of shop to \S+ \(grpc\) are succeeding again after \d+ failure/u);
      // The bridge's own, too; each service is exported at its own time.
      await reaches(published, ownCount);
      bridge.signal('SIGTERM');
      assert.equal((await bridge.ended()).code, 0);
      assert.deepEqual([sent(), ownCount()], [published, published], 'and nothing twice');
    });
  }
});

/** In lists, as Celery sends them when there are many. */
function sentEvents(amount: number): readonly RawPublish[] {
  return Array.from({ length: amount / EVENTS_A_MESSAGE }, () => {
    const events = Array.from({ length: EVENTS_A_MESSAGE }, (_, index) =>
      event('task-sent', { name: `shop.task_${index % TASKS}`, queue: 'orders' }),
    );
    const body = Buffer.from(JSON.stringify(events));
    return { routingKey: 'task.multi', body, contentType: 'application/json', contentEncoding: 'utf-8' };
  });
}
