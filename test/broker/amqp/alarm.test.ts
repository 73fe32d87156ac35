/** Listened time over a real RabbitMQ: in silence, during an alarm, and where we may not publish. */
import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createAmqpTransport } from '../../../src/broker/amqp/transport.ts';
import { ListeningClock } from '../../../src/broker/listening-clock.ts';
import { type RabbitMq, startRabbitmq } from '../../real/rabbitmq.ts';
import type { SentMessage } from '../conformance.ts';
import { Log } from '../log.ts';
import { addressOf, observeSession } from '../observed-session.ts';
import { startPublisher } from '../publisher.ts';
import { AMQP } from './amqp-transport.ts';

const HEARTBEAT: SentMessage = {
  routingKey: 'worker.heartbeat',
  contentType: 'application/json',
  contentEncoding: 'utf-8',
  headers: {},
  body: Buffer.from('{"type":"worker-heartbeat"}'),
};

let rabbitmq: RabbitMq;
before(async () => {
  rabbitmq = await startRabbitmq();
});
after(() => rabbitmq.remove());

/** A session, and what it was told about publishing. */
async function listenAt(t: TestContext, url: string) {
  const transport = createAmqpTransport(AMQP, new ListeningClock());
  const failures = new Log<string>();
  const session = observeSession(t, transport, {
    url: addressOf(url),
    onPublishFailed: (kind, reason) => failures.add(`${kind}: ${reason}`),
  });
  await session.ready();
  /** How much listened time passes in so many seconds. */
  const listenedMsIn = async (s: number): Promise<number> => {
    const beforeMs = transport.listenedMs();
    await delay(s * 1000);
    return transport.listenedMs() - beforeMs;
  };
  return { ...session, failures, listenedMsIn };
}

const raiseAlarm = () => rabbitmq.ctl('set_vm_memory_high_watermark', '0.0000001');
const endAlarm = () => rabbitmq.ctl('set_vm_memory_high_watermark', '0.9');

test('during an alarm, nothing counts as listened time; before and afterwards, silence does', async (t) => {
  // RabbitMQ sends a heartbeat each second: an alarm does not stop them.
  const { log, failures, listenedMsIn } = await listenAt(t, `${rabbitmq.url}?heartbeat=2`);
  assert.ok((await listenedMsIn(4)) > 1500, 'it is silent, and we listen');
  await raiseAlarm();
  assert.match((await failures.reaches(1))[0] ?? '', /^publish-blocked: low on memory$/);
  // The message that RabbitMQ blocks us for may still return.
  assert.ok((await listenedMsIn(5)) <= 1500);
  const publisher = await startPublisher(t, rabbitmq.port);
  const published = publisher.publish('celeryev', [HEARTBEAT]);
  assert.equal(await listenedMsIn(2), 0, 'a worker that speaks is not heard either');
  await endAlarm();
  await published;
  await log.find((item) => item !== 'ready');
  assert.ok((await listenedMsIn(4)) > 1500, 'and again');
  assert.equal(failures.items.length, 1);
  assert.deepEqual(
    log.items.map((item) => (item === 'ready' ? item : item.routingKey)),
    ['ready', 'worker.heartbeat'],
    'what we send to ourselves is not delivered',
  );
});

test('it stops quickly during an alarm', async (t) => {
  await raiseAlarm();
  try {
    const { failures, stopping, ended } = await listenAt(t, rabbitmq.url);
    await failures.reaches(1);
    const asked = performance.now();
    stopping.abort();
    assert.deepEqual(await ended, { kind: 'stopped' });
    assert.ok(performance.now() - asked < 10_000);
  } finally {
    await endAlarm();
  }
});

test('without permission to publish, silence counts as long as RabbitMQ answers', async (t) => {
  await rabbitmq.ctl('add_user', 'monitor', 'secret');
  const own = '^celeryev\\..*';
  await rabbitmq.ctl('set_permissions', 'monitor', own, own, '^celeryev(\\..*)?$');
  const url = rabbitmq.url.replace('guest:guest', 'monitor:secret');
  const { log, failures, listenedMsIn } = await listenAt(t, url);
  assert.match((await failures.reaches(1))[0] ?? '', /^publish-refused: .*ACCESS_REFUSED.*amq\.default/);
  assert.ok((await listenedMsIn(5)) > 2500);
  assert.equal(failures.items.length, 1, 'it is tried once');
  const publisher = await startPublisher(t, rabbitmq.port);
  await publisher.publish('celeryev', [HEARTBEAT]);
  await log.find((item) => item !== 'ready');
});
