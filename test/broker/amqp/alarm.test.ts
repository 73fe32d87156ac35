/** Listened time over a real RabbitMQ: in silence, during an alarm, and where we may not publish. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type RabbitMq, startRabbitmq } from '../../real/rabbitmq.ts';
import type { SentMessage } from '../conformance.ts';
import { startPublisher } from '../publisher.ts';
import { listenTold } from './listen-told.ts';

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

const raiseAlarm = () => rabbitmq.ctl('set_vm_memory_high_watermark', '0.0000001');
const endAlarm = () => rabbitmq.ctl('set_vm_memory_high_watermark', '0.9');

test('during an alarm, nothing counts as listened time; before and afterwards, silence does', async (t) => {
  // RabbitMQ sends a heartbeat each second: an alarm does not stop them.
  const { log, failures, listens, listenedMsIn } = await listenTold(t, `${rabbitmq.url}?heartbeat=2`);
  // It is silent, and we listen.
  await listens(1500);
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
  await listens(1500);
  assert.deepEqual(failures.items.slice(1), ['publish-unblocked: ']);
  assert.deepEqual(
    log.items.map((item) => (item === 'ready' ? item : item.routingKey)),
    ['ready', 'worker.heartbeat'],
    'what we send to ourselves is not delivered',
  );
});

test('it stops during an alarm', async (t) => {
  await raiseAlarm();
  try {
    const { failures, stopping, ended } = await listenTold(t, rabbitmq.url);
    await failures.reaches(1);
    stopping.abort();
    assert.deepEqual(await ended, { kind: 'stopped' });
  } finally {
    await endAlarm();
  }
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
