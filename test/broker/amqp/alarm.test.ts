/** Listened time over a real RabbitMQ: in silence, during an alarm, and where we may not publish. */
import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type RabbitMq, startRabbitmq } from '../../real/rabbitmq.ts';
import { until } from '../../until.ts';
import { HEARTBEAT } from '../conformance.ts';
import { Log } from '../log.ts';
import { addressOf, observeSession } from '../observed-session.ts';
import { startPublisher } from '../publisher.ts';
import { amqpTransport } from './amqp-transport.ts';

let rabbitmq: RabbitMq;
before(async () => {
  rabbitmq = await startRabbitmq();
});
after(() => rabbitmq.remove());

/** A session with the time that it has listened, and what it was told about publishing. */
async function listenTold(t: TestContext, url: string) {
  const transport = amqpTransport();
  const failures = new Log<string>();
  const session = observeSession(t, transport, {
    url: addressOf(url),
    onPublishing: (kind, reason) => failures.add(`${kind}: ${reason}`),
  });
  await session.ready();
  /** How much listened time passes in so many seconds. */
  const listenedMsIn = async (s: number): Promise<number> => {
    const beforeMs = transport.listenedMs();
    await delay(s * 1000);
    return transport.listenedMs() - beforeMs;
  };
  /** Waits for so much more listened time. */
  const listens = (ms: number): Promise<unknown> => {
    const beforeMs = transport.listenedMs();
    return until(`${ms} ms of listened time`, () => transport.listenedMs() - beforeMs > ms);
  };
  return { ...session, failures, listens, listenedMsIn };
}

test('during an alarm, nothing counts as listened time; before and afterwards, silence does', async (t) => {
  // RabbitMQ sends a heartbeat each second: an alarm does not stop them.
  const { log, failures, listens, listenedMsIn } = await listenTold(t, `${rabbitmq.url}?heartbeat=2`);
  // It is silent, and we listen.
  await listens(1500);
  await rabbitmq.setAlarm(true);
  assert.match((await failures.reaches(1))[0] ?? '', /^publish-blocked: low on memory$/);
  // The message that RabbitMQ blocks us for may still return.
  assert.ok((await listenedMsIn(5)) <= 1500);
  const publisher = await startPublisher(t, rabbitmq.port);
  const published = publisher.publish('celeryev', [HEARTBEAT]);
  assert.equal(await listenedMsIn(2), 0, 'a worker that speaks is not heard either');
  await rabbitmq.setAlarm(false);
  await published;
  await log.find((item) => item !== 'ready');
  await listens(1500);
  assert.deepEqual(failures.items.slice(1), ['publish-unblocked: ']);
  assert.deepEqual(
    log.items.map((item) => (item === 'ready' ? item : item.routingKey)),
    ['ready', 'worker.heartbeat'],
    'what we send to ourselves is not delivered',
  );
});

test('without permission to publish, silence counts as long as RabbitMQ answers', async (t) => {
  const own = '^celeryev\\..*';
  await rabbitmq.allow('monitor', 'secret', { configure: own, write: own, read: '^celeryev(\\..*)?$' });
  const url = rabbitmq.url.replace('guest:guest', 'monitor:secret');
  const { log, failures, listens } = await listenTold(t, url);
  assert.match((await failures.reaches(1))[0] ?? '', /^publish-refused: .*ACCESS_REFUSED.*amq\.default/);
  await listens(2500);
  assert.equal(failures.items.length, 1, 'it is tried once');
  const publisher = await startPublisher(t, rabbitmq.port);
  await publisher.publish('celeryev', [HEARTBEAT]);
  await log.find((item) => item !== 'ready');
});
