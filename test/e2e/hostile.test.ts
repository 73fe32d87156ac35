import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { total } from '../../examples/demo/otlp-points.ts';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { BODY_LIMITS, EXPANSION_COSTS } from '../../src/celery/body-limits.ts';
import { REJECTION_REASONS } from '../../src/celery/rejection.ts';
import { BROKER_NAMES, type BrokerName, borrowBroker } from '../real/brokers.ts';
import { startBridge } from './bridge-process.ts';
import { CORRUPT, hostileMessages, TOO_COSTLY } from './hostile-messages.ts';
import { event, publish, publishRaw } from './publish.ts';

interface Flood {
  readonly messages: number;
  /** So few at once that none is dropped unread. */
  readonly portion: number;
}

const FLOODS: Readonly<Record<BrokerName, Flood>> = {
  // Below the limit of the bridge’s queue. The campaign publishes more.
  RabbitMQ: { messages: 40_000, portion: 20_000 },
  // Below the 8 MiB from which the bridge sheds: some messages have 5 MB. What is behind the envelope is tested above.
  Redis: { messages: 2000, portion: 400 },
};
const SEED = 20_261_121;
/** More than the time for decompression is enough for. */
const CORRUPT_MESSAGES = 10_000;

/** A bridge that is connected to a broker of its own. */
async function startAll(t: TestContext, name: BrokerName) {
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

for (const name of BROKER_NAMES) {
  const { messages: count, portion } = FLOODS[name];
  test(`${count} hostile messages on ${name} leave it running, each counted under its reason`, {
    timeout: 180_000,
  }, async (t) => {
    const { url, sink, bridge } = await startAll(t, name);

    const { messages, expected } = hostileMessages(SEED, count);
    for (let from = 0; from < messages.length; from += portion) {
      const until = Math.min(from + portion, messages.length);
      await publishRaw(url, messages.slice(from, until));
      await sink.waitFor(
        'celery-otel',
        (points) => total(points, 'celery_otel.input.dropped') >= until,
        60_000,
      );
    }

    const points = sink.latest('celery-otel');
    const counted = Object.keys(expected).map((reason) => [
      reason,
      total(points, 'celery_otel.input.dropped', { 'celery_otel.drop.reason': reason }),
    ]);
    assert.deepEqual(Object.fromEntries(counted), expected);
    assert.equal(
      total(points, 'celery_otel.input.dropped'),
      count,
      'nothing was counted under another reason',
    );
    assert.deepEqual(
      [...Object.keys(expected), TOO_COSTLY].sort(),
      Object.keys(REJECTION_REASONS).sort(),
      'every reason was tried',
    );

    await publish(url, [event('task-sent', { name: 'shop.after_all_that', queue: 'orders' })]);
    const after = await sink.waitFor('shop', (latest) => total(latest, 'celery.task.sent') === 1, 10_000);
    assert.equal(
      after.find((point) => point.metric === 'celery.task.sent')?.attributes['celery.task.name'],
      'shop.after_all_that',
    );
    assert.ok(bridge.alive());
    const lines = bridge.log().split('\n').length;
    assert.ok(lines < 200, `the flood made ${lines} log lines`);
  });

  test(`compressed bodies beyond the time for decompression are counted as such on ${name}, each once`, {
    timeout: 60_000,
  }, async (t) => {
    const { url, sink } = await startAll(t, name);
    const fromMs = performance.now();
    await publishRaw(url, Array<typeof CORRUPT>(CORRUPT_MESSAGES).fill(CORRUPT));
    const points = await sink.waitFor(
      'celery-otel',
      (latest) => total(latest, 'celery_otel.input.dropped') >= CORRUPT_MESSAGES,
      20_000,
    );
    const tookS = (performance.now() - fromMs) / 1000;
    const of = (reason: string) =>
      total(points, 'celery_otel.input.dropped', { 'celery_otel.drop.reason': reason });
    const most = Math.ceil(((1 + tookS) * BODY_LIMITS.expansion_cost.max) / EXPANSION_COSTS.abortedMs);
    const corrupt = of('corrupt-compression');
    assert.ok(corrupt > 0 && corrupt <= most, `${corrupt} were looked into, of at most ${most}`);
    assert.equal(of(TOO_COSTLY), CORRUPT_MESSAGES - corrupt);
    assert.equal(total(points, 'celery_otel.input.dropped'), CORRUPT_MESSAGES);
  });
}
