/** What a real RabbitMQ says of its queues, and that asking changes nothing. */
import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type ChannelModel, connect } from 'amqplib';
import { QueuePoll } from '../../../src/broker/amqp/queue-poll.ts';
import { type RabbitMq, startRabbitmq } from '../../real/rabbitmq.ts';
import { QUESTION } from '../poll-keys.ts';

let rabbitmq: RabbitMq;
before(async () => {
  rabbitmq = await startRabbitmq();
});
after(() => rabbitmq?.remove());

const signal = new AbortController().signal;

async function connected(t: TestContext, url: string): Promise<ChannelModel> {
  const model = await connect(url);
  model.on('error', () => undefined);
  t.after(() => model.close());
  return model;
}

/** Two connections to a virtual host of its own: one polls, one has the queues. */
async function started(t: TestContext, name: string) {
  const url = await rabbitmq.addVhost(name);
  const [asking, owning] = await Promise.all([connected(t, url), connected(t, url)]);
  const channel = await owning.createChannel();
  const poll = new QueuePoll(asking, 'celeryev');
  return {
    ...{ url, asking, channel },
    read: (...queues: readonly string[]) => poll.read({ queues, ...QUESTION }, signal),
    fill: async (queue: string, messages: number, options = {}) => {
      await channel.assertQueue(queue, { durable: false, ...options });
      for (let left = messages; left > 0; left -= 1) channel.sendToQueue(queue, Buffer.from('x'));
      while ((await channel.checkQueue(queue)).messageCount < messages) await delay(10);
    },
  };
}

test('lengths and consumers are those of the broker; what is missing or exclusive is absent', async (t) => {
  const { read, fill, channel } = await started(t, 'lengths');
  await fill('orders', 20);
  await fill('empty', 0);
  await fill('taken', 2, { exclusive: true });
  await channel.prefetch(1);
  await channel.consume('empty', () => {});
  const { queues, ...more } = await read('orders', 'missing', 'empty', 'taken', 'é'.repeat(200), '\0');
  assert.deepEqual(
    [...queues].sort((a, b) => a.queue.localeCompare(b.queue)),
    [
      { queue: 'empty', length: 0, consumers: 1 },
      { queue: 'orders', length: 20, consumers: 0 },
    ],
  );
  assert.deepEqual(more, { incomplete: [] });
  assert.equal((await channel.checkQueue('orders')).messageCount, 20, 'nothing is taken');
});

test('a missing queue is asked for ever less often, and found within that time', async (t) => {
  const { read, fill, asking } = await started(t, 'missing');
  let nowMs = 0;
  t.mock.method(performance, 'now', () => nowMs);
  const asked = t.mock.method(asking, 'createChannel');
  const channelsBy = async (ms: number): Promise<number> => {
    nowMs = ms;
    const before = asked.mock.callCount();
    assert.deepEqual((await read('later')).queues, []);
    return asked.mock.callCount() - before;
  };
  // With the first poll, the queues of native delayed delivery are missing too.
  assert.equal(await channelsBy(0), 2);
  assert.equal(await channelsBy(4999), 0);
  assert.equal(await channelsBy(5000), 2);
  assert.equal(await channelsBy(14_999), 0);
  assert.equal(await channelsBy(15_000), 2);
  for (nowMs = 20_000; nowMs < 20_000_000; nowMs += 60_000) await read('later');
  await fill('later', 1);
  nowMs += 3_600_000;
  assert.deepEqual((await read('later')).queues, [{ queue: 'later', length: 1, consumers: 0 }]);
});

test('of many missing queues few are asked for in a poll, and none at the cost of those that exist', async (t) => {
  const { read, fill, asking, channel } = await started(t, 'many-missing');
  await fill('orders', 1);
  const missing = Array.from({ length: 200 }, (_, index) => `made-up-${index}`);
  assert.equal((await read('orders')).queues.length, 1);
  const opened = t.mock.method(asking, 'createChannel');
  assert.equal((await read(...missing, 'orders')).queues.length, 1);
  assert.ok(opened.mock.callCount() <= 25, `${opened.mock.callCount()} channels`);
  // The next ones come next.
  await fill('made-up-39', 1);
  assert.deepEqual(
    (await read(...missing)).queues.map(({ queue }) => queue),
    ['made-up-39'],
  );
  await channel.deleteQueue('made-up-39');
});

test('a poll that is given up leaves no channel open', async (t) => {
  const { asking, url } = await started(t, 'given-up');
  const vhost = decodeURIComponent(new URL(url).pathname.slice(1));
  const poll = new QueuePoll(asking, 'celeryev');
  for (let round = 0; round < 5; round += 1) {
    const giveUp = new AbortController();
    const reading = poll.read({ queues: ['a', 'b', 'c'], ...QUESTION }, giveUp.signal);
    giveUp.abort();
    await assert.rejects(reading, /abort/iu);
  }
  const channels = await rabbitmq.ctl(
    'list_channels',
    '--vhost',
    vhost,
    '--quiet',
    '--no-table-headers',
    'pid',
  );
  assert.equal(channels.trim().split('\n').filter(Boolean).length, 1, 'only that of this test');
});

test('messages of native delayed delivery are summed, and their queues are no queues of tasks', async (t) => {
  const { read, fill } = await started(t, 'delayed');
  assert.equal((await read('celery_delayed_3')).delayed, undefined);
  const other = await started(t, 'delayed-too');
  for (let level = 0; level < 28; level += 1)
    await other.fill(`celery_delayed_${level}`, level === 5 ? 2 : 0);
  await other.fill('celery_delayed_27', 1);
  const { queues, delayed } = await other.read('celery_delayed_5', 'orders');
  assert.deepEqual([queues, delayed], [[], 3]);
  await fill('orders', 1);
  assert.deepEqual((await read('orders')).queues, [{ queue: 'orders', length: 1, consumers: 0 }]);
});

test('queues of events and of remote control expire as if nobody asked', async (t) => {
  const { read, fill, channel, asking } = await started(t, 'expiring');
  const names = ['celeryev.x', 'w1@shop.celery.pidbox', 'orders'];
  for (const name of names) await fill(name, 0, { expires: 1500 });
  for (let round = 0; round < 10; round += 1) {
    await read(...names);
    await delay(300);
  }
  assert.equal((await read(...names)).queues.length, 1, 'a queue that is polled lives');
  for (const name of names.slice(0, 2)) {
    const checking = await asking.createChannel();
    checking.on('error', () => undefined);
    await assert.rejects(checking.checkQueue(name), /NOT_FOUND/u, name);
  }
  await channel.deleteQueue('orders');
});

test('a thousand queues are read in a moment, and permissions are not needed', async (t) => {
  const { read, fill, url } = await started(t, 'many');
  const names = Array.from({ length: 1001 }, (_, index) => `q${index}`);
  await Promise.all(names.map((name) => fill(name, 0)));
  const beganMs = performance.now();
  const { queues, incomplete } = await read(...names);
  t.diagnostic(`${Math.round(performance.now() - beganMs)} ms`);
  assert.equal(queues.length, 1000);
  assert.match(incomplete.join(), /^1 queues are not polled/u);
  const user = new URL(url);
  await rabbitmq.ctl('add_user', 'looker', 'secret');
  await rabbitmq.ctl(
    'set_permissions',
    '-p',
    decodeURIComponent(user.pathname.slice(1)),
    'looker',
    '^$',
    '^$',
    '^$',
  );
  [user.username, user.password] = ['looker', 'secret'];
  const poll = new QueuePoll(await connected(t, user.href), 'celeryev');
  assert.equal((await poll.read({ queues: ['q1'], ...QUESTION }, signal)).queues.length, 1);
});

test('a poll ends with its connection, and with its signal', async (t) => {
  const { url } = await started(t, 'ends');
  const model = await connect(url);
  model.on('error', () => undefined);
  const poll = new QueuePoll(model, 'celeryev');
  await assert.rejects(poll.read({ queues: ['a'], ...QUESTION }, AbortSignal.abort()), /abort/iu);
  await model.close();
  await assert.rejects(poll.read({ queues: ['a'], ...QUESTION }, signal));
});
