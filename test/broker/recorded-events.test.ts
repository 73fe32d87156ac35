/** The recorded events of real clusters, through each transport: the same messages arrive, and give the same metrics. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, type TestContext, test } from 'node:test';
import type { RawMessage, Transport } from '../../src/broker/broker.ts';
import type { BrokerUrl } from '../../src/broker/broker-url.ts';
import { kindOf } from '../../src/broker/kinds.ts';
import { decodeMessage } from '../../src/broker/recording/format.ts';
import { ListeningClock } from '../../src/broker/session/listening-clock.ts';
import { TRANSPORTS } from '../../src/broker/transports.ts';
import { decode } from '../../src/celery/decode.ts';
import { createCluster } from '../../src/cluster/cluster.ts';
import { METRIC_NAMES } from '../../src/meter/catalog.ts';
import { createRecorder } from '../../src/meter/recorder.ts';
import { EVERYTHING } from '../celery/wire.ts';
import { atOnce } from '../cluster/at-once.ts';
import { SETTINGS as CLUSTER } from '../cluster/events.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { collectingMeter } from '../meter/collecting.ts';
import { borrowRabbitmq, type Vhosts, vhostOf } from '../real/lent-rabbitmq.ts';
import { type Redis, startRedis } from '../real/redis.ts';
import { RECORDED_CLUSTERS } from '../recordings/recorded-clusters.ts';
import { SETTINGS } from './broker-settings.ts';
import type { SentMessage } from './conformance.ts';
import { addressOf, observeSession } from './observed-session.ts';
import { startPublisher } from './publisher.ts';
import { startRedisPublisher } from './redis/redis-publisher.ts';

const FOLDER = `${import.meta.dirname}/../recordings`;

function recorded(name: string): readonly RawMessage[] {
  const [, ...lines] = readFileSync(`${FOLDER}/${name}.ndjson`, 'utf8').trimEnd().split('\n');
  return lines.map((line) => {
    const read = decodeMessage(Buffer.from(line));
    assert.ok(read.ok, line);
    return read.message;
  });
}

function asSent({ arrivedAtMs: _, exchange: __, headers, body, ...message }: RawMessage): SentMessage {
  assert.ok(headers !== undefined && body !== undefined);
  return { ...message, headers: { ...headers }, body };
}

/** What the messages come to, each arriving when it was recorded. */
async function metricsOf(t: TestContext, messages: readonly RawMessage[], arrivals: readonly number[]) {
  const { meter, collect } = collectingMeter(t);
  let nowMs = 0;
  const cluster = createCluster(CLUSTER, (observation) => recorder.record(observation));
  const now = () => ({ wallMs: nowMs, listenedMs: nowMs });
  const view = () => {
    atOnce(cluster.settle(now));
    return atOnce(cluster.view(now));
  };
  const recorder = createRecorder(meter, view, { metrics: new Set(METRIC_NAMES), optIns: new Set() });
  for (const [index, message] of messages.entries()) {
    nowMs = arrivals[index] ?? nowMs;
    const { events } = decode({ ...message, arrivedAtMs: nowMs }, 0, undefined, EVERYTHING);
    for (const event of events) cluster.apply(event, nowMs, nowMs);
  }
  nowMs += 2 * CLUSTER.windowMs;
  return (await collect()).map((point) => JSON.stringify(point)).sort();
}

interface Broker {
  readonly url: BrokerUrl;
  readonly publish: (messages: readonly SentMessage[]) => Promise<unknown>;
}

let rabbitmq: Vhosts;
let redis: Redis;
before(async () => {
  [rabbitmq, redis] = await Promise.all([borrowRabbitmq(), startRedis()]);
});
after(() => Promise.all([rabbitmq?.remove(), redis?.stop()]));

const BROKERS: Readonly<Record<string, (t: TestContext) => Promise<Broker>>> = {
  async RabbitMQ(t) {
    const publisher = await startPublisher(t, rabbitmq.port, vhostOf(rabbitmq.url));
    const url = addressOf(rabbitmq.url);
    return { url, publish: (messages) => publisher.publish(SETTINGS.eventExchange, messages) };
  },
  async Redis(t) {
    const publisher = await startRedisPublisher(t, redis.url);
    const url = addressOf(redis.url);
    return { url, publish: (messages) => publisher.publish(SETTINGS.eventExchange, messages) };
  },
};

for (const [name, start] of Object.entries(BROKERS)) {
  test(`the recorded events of real clusters give the same metrics through ${name}`, async (t) => {
    const { url, publish } = await start(t);
    const transport: Transport = TRANSPORTS[kindOf(url).name](
      { ...SETTINGS, urls: [url], connectTimeoutMs: DEADLINE_MS },
      new ListeningClock(),
    );
    for (const recording of Object.keys(RECORDED_CLUSTERS)) {
      const messages = recorded(recording);
      const session = observeSession(t, transport, { url });
      await session.ready();
      await publish(messages.map(asSent));
      const delivered = await session.delivered(messages.length);
      session.stopping.abort();
      await session.ended;
      assert.deepEqual(delivered.map(asSent), messages.map(asSent), recording);
      const arrivals = messages.map(({ arrivedAtMs }) => arrivedAtMs);
      const expected = await metricsOf(t, messages, arrivals);
      assert.ok(expected.length > 10, recording);
      assert.deepEqual(await metricsOf(t, delivered, arrivals), expected, recording);
    }
  });
}
