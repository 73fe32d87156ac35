/** What a real RabbitMQ says of its queues, and that asking changes nothing. */

import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type ChannelModel, connect } from 'amqplib';
import { connectTo } from '../../../src/broker/amqp/connection.ts';
import { QueuePoll } from '../../../src/broker/amqp/queue-poll.ts';
import { type RabbitMq, startRabbitmq } from '../../real/rabbitmq.ts';
import { until } from '../../until.ts';
import { addressOf } from '../observed-session.ts';
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

/** Longer than a busy machine pauses between two polls. */
const EXPIRES_MS = 5000;

function opening(url: string): (socket: AbortSignal) => Promise<ChannelModel> {
  const address = addressOf(url);
  if (!('vhost' in address)) throw new Error('no address of RabbitMQ');
  return (socket) => connectTo(address, { heartbeatS: 60 }, socket);
}

/** Two connections to a virtual host of its own: one polls, one has the queues. */
async function started(t: TestContext, name: string) {
  const url = await rabbitmq.addVhost(name);
  const [asking, owning] = await Promise.all([connected(t, url), connected(t, url)]);
  const channel = await owning.createChannel();
  const poll = new QueuePoll(async () => asking, 'celeryev');
  return {
    ...{ url, asking, channel },
    read: (...queues: readonly string[]) => poll.read({ queues, ...QUESTION }, signal),
    fill: async (queue: string, messages: number, options = {}) => {
      await channel.assertQueue(queue, { durable: false, ...options });
      for (let left = messages; left > 0; left -= 1) channel.sendToQueue(queue, Buffer.from('x'));
      await until(
        `${messages} messages in ${queue}`,
        async () => (await channel.checkQueue(queue)).messageCount >= messages,
      );
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
  const { queues, incomplete } = await read(...missing, 'orders');
  assert.equal(queues.length, 1);
  assert.match(incomplete.join(), /^1[67]\d queues will be polled later/u);
  assert.ok(opened.mock.callCount() <= 40, `${opened.mock.callCount()} channels`);
  // The next ones come next.
  await fill('made-up-39', 1);
  assert.deepEqual(
    (await read(...missing)).queues.map(({ queue }) => queue),
    ['made-up-39'],
  );
  await channel.deleteQueue('made-up-39');
});

test('a poll that is given up leaves no channel open', async (t) => {
  const { url } = await started(t, 'given-up');
  const vhost = decodeURIComponent(new URL(url).pathname.slice(1));
  const poll = new QueuePoll(opening(url), 'celeryev');
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
  for (const name of names) await fill(name, 0, { expires: EXPIRES_MS });
  for (let round = 0; round < 25; round += 1) {
    await read(...names);
    await delay(EXPIRES_MS / 15);
  }
  assert.equal((await read(...names)).queues.length, 1, 'a queue that is polled lives');
  for (const name of names.slice(0, 2)) {
    const checking = await asking.createChannel();
    checking.on('error', () => undefined);
    await assert.rejects(checking.checkQueue(name), /NOT_FOUND/u, name);
  }
  await channel.deleteQueue('orders');
});

test('a thousand queues are read at once, and permissions are not needed', async (t) => {
  const { read, fill, url } = await started(t, 'many');
  const names = Array.from({ length: 1001 }, (_, index) => `q${index}`);
  await Promise.all(names.map((name) => fill(name, 0)));
  const { queues, incomplete } = await read(...names);
  assert.equal(queues.length, 1000);
  assert.match(incomplete.join(), /^1 queues are not polled/u);
  const user = new URL(url);
  const nothing = { configure: '^$', write: '^$', read: '^$' };
  await rabbitmq.allow('looker', 'secret', nothing, decodeURIComponent(user.pathname.slice(1)));
  [user.username, user.password] = ['looker', 'secret'];
  const poll = new QueuePoll(opening(user.href), 'celeryev');
  t.after(() => poll.end());
  assert.equal((await poll.read({ queues: ['q1'], ...QUESTION }, signal)).queues.length, 1);
});

test('a poll that fails closes its connection, and the next one opens another', async (t) => {
  const { url, fill } = await started(t, 'ends');
  await fill('a', 1);
  const opened: ChannelModel[] = [];
  const poll = new QueuePoll(async (socket) => {
    const model = await opening(url)(socket);
    opened.push(model);
    return model;
  }, 'celeryev');
  t.after(() => poll.end());
  const read = (until = signal) => poll.read({ queues: ['a'], ...QUESTION }, until);
  assert.equal((await read()).queues.length, 1);
  assert.equal((await read()).queues.length, 1);
  assert.equal(opened.length, 1, 'one connection for all polls');
  await assert.rejects(read(AbortSignal.abort()), /abort/iu);
  assert.equal((await read()).queues.length, 1);
  await opened.at(-1)?.close();
  assert.equal((await read()).queues.length, 1);
  assert.equal(opened.length, 3);
});

test('a connection that never opens ends with the signal', async () => {
  const poll = new QueuePoll(() => new Promise(() => {}), 'celeryev');
  await assert.rejects(poll.read({ queues: ['a'], ...QUESTION }, AbortSignal.timeout(20)), /abort/iu);
});

test('a queue that does not answer is told, and takes no other queue with it', async (t) => {
  const { url, channel, fill } = await started(t, 'silent');
  for (const name of ['down', 'orders']) await fill(name, 1, { durable: true });
  const poll = new QueuePoll(opening(url), 'celeryev');
  t.after(() => poll.end());
  // Its supervisor gives up after some deaths in a row.
  const down = 'rabbit_misc:r(<<"silent">>, queue, <<"down">>)';
  const kill = `{ok, Q} = rabbit_amqqueue:lookup(${down}), exit(amqqueue:get_pid(Q), kill), timer:sleep(100)`;
  await rabbitmq.ctl('eval', `[begin ${kill} end || _ <- lists:seq(1, 12)].`);
  const names = () => poll.read({ queues: ['down', 'orders'], ...QUESTION }, signal);
  for (let round = 0; round < 2; round += 1) {
    const { queues, incomplete } = await names();
    assert.deepEqual(
      [queues.map(({ queue }) => queue), incomplete],
      [['orders'], ['1 queues did not reply']],
    );
  }
  await channel.deleteQueue('orders');
});

test('a user who may open few channels loses no events, nor the polls of few queues', async (t) => {
  const { url, fill } = await started(t, 'few-channels');
  await fill('orders', 1);
  await rabbitmq.allow('few', 'secret', { configure: '.*', write: '.*', read: '.*' }, 'few-channels');
  await rabbitmq.ctl('set_user_limits', 'few', '{"max-channels": 5}');
  const user = new URL(url);
  [user.username, user.password] = ['few', 'secret'];
  const listening = await connected(t, user.href);
  const channel = await listening.createChannel();
  const poll = new QueuePoll(opening(user.href), 'celeryev');
  t.after(() => poll.end());
  const read = (queues: readonly string[]) => poll.read({ queues, ...QUESTION }, signal);
  assert.equal((await read(['orders'])).queues.length, 1);
  await assert.rejects(
    read(Array.from({ length: 300 }, (_, index) => `q${index}`)),
    /NOT_ALLOWED|closed|ended/u,
  );
  assert.equal((await channel.checkQueue('orders')).messageCount, 1);
});
