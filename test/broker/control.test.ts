/** Remote control over both brokers: by namespace, beside a real worker, and where there are no workers or no rights. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, type TestContext, test } from 'node:test';
import { type Channel, connect } from 'amqplib';
import { Redis as Client } from 'ioredis';
import type { RawMessage } from '../../src/broker/broker.ts';
import type { ControlCommand } from '../../src/broker/control/commands.ts';
import type { ControlQuestion } from '../../src/broker/control/control.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { BROKER_NAMES, type BrokerName, borrowBroker } from '../real/brokers.ts';
import { celeryFlavours, SHOP_FOLDER, startWorker } from '../real/celery.ts';
import { type Permissions, type RabbitMq, startRabbitmq } from '../real/rabbitmq.ts';
import { type Redis, startRedis } from '../real/redis.ts';
import { until } from '../until.ts';
import { amqpTransport } from './amqp/amqp-transport.ts';
import { addressOf, observeSession } from './observed-session.ts';
import { redisTransport } from './redis/redis-transport.ts';
import { type Reply, replyTo } from './redis/replies.ts';

const NEVER = new AbortController().signal;
const SEPARATOR = '\u0006\u0016';

/** @param expected how many replies end it, where the number of receivers is not known */
function question(command: ControlCommand, more: Partial<ControlQuestion> = {}, expected = Infinity) {
  const replies: RawMessage[] = [];
  return {
    replies,
    question: {
      ...{ command, namespace: 'celery', timeoutMs: DEADLINE_MS },
      redis: { owner: 'test', separator: SEPARATOR },
      take: (reply: RawMessage) =>
        replies.push({ ...reply, body: reply.body && Buffer.from(reply.body) }) >= expected,
      ...more,
    },
  };
}

function observed(t: TestContext, name: BrokerName, url: string) {
  const transport = name === 'RabbitMQ' ? amqpTransport() : redisTransport();
  return observeSession(t, transport, { url: addressOf(url) });
}

/** Over Redis, a worker says that it is ready before it has subscribed to its channel: what is asked in between is lost. */
async function untilTheyReply(
  t: TestContext,
  name: BrokerName,
  url: string,
  namespace: string,
  amount: number,
): Promise<void> {
  // Late replies do not reach the session of the test.
  const { session, end } = observed(t, name, url);
  const opened = await session();
  await until(`${amount} replies in ${namespace}`, async () => {
    const { question: asked, replies } = question('ping', { namespace, timeoutMs: 1000 }, amount);
    await opened.ask?.(asked, NEVER);
    return replies.length === amount;
  });
  await end();
}

/** As another user. */
function as(url: string, user: string): string {
  const address = new URL(url);
  [address.username, address.password] = [user, 'SECRET'];
  return address.href;
}

const DOCUMENT = readFileSync(`${import.meta.dirname}/../../docs/brokers.md`, 'utf8');

/** The arguments of a command in the documents. */
function documented(command: RegExp): readonly string[] {
  const [, args = ''] = command.exec(DOCUMENT) ?? [];
  assert.notEqual(args, '');
  return args.replaceAll("'", '').split(' ');
}

/** Gives the documented permissions to a user of RabbitMQ, with these patterns replaced. */
async function allow(rabbitmq: RabbitMq, user: string, patterns: Partial<Permissions> = {}) {
  const [configure = '', write = '', read = ''] = documented(
    /set_permissions --vhost \/ celery-otel (.*)$/mu,
  );
  const given = { configure, write, read, ...patterns };
  await rabbitmq.allow(user, 'SECRET', given);
}

const isReply = (key: string): boolean => key.includes('reply.');

for (const name of BROKER_NAMES) {
  test(`over ${name} one session asks several namespaces, and those who are asked reply, each for itself`, async (t) => {
    const broker = await borrowBroker(name);
    t.after(() => broker.remove());
    const [flavour, other = flavour] = celeryFlavours();
    const common = { broker: broker.url, backend: 'cache+memory://' };
    const apart = { folder: `${import.meta.dirname}/../e2e`, app: 'shop_apart' };
    const workers = await Promise.all([
      startWorker({ ...common, flavour, nodename: 'one@shop' }),
      startWorker({ ...common, flavour: other, nodename: 'two@shop' }),
      startWorker({
        ...{ ...common, ...apart, flavour, nodename: 'apart@shop', queues: ['billing'] },
        env: { SHOP_NAME: 'billing', PYTHONPATH: SHOP_FOLDER },
      }),
    ]);
    t.after(() => Promise.all(workers.map((worker) => worker.stop())));
    await untilTheyReply(t, name, broker.url, 'celery', 2);
    await untilTheyReply(t, name, broker.url, 'billing', 1);
    const session = await observed(t, name, broker.url).session();
    for (const [namespace, destination, expected] of [
      ['billing', undefined, ['apart@shop']],
      ['celery', ['two@shop'], ['two@shop']],
      ['celery', undefined, ['one@shop', 'two@shop']],
      ['billing', undefined, ['apart@shop']],
    ] as const) {
      const { question: asked, replies } = question(
        'ping',
        { namespace, ...(destination && { destination }) },
        expected.length,
      );
      const answer = await session.ask?.(asked, NEVER);
      const names = replies.flatMap((reply) => Object.keys(JSON.parse(String(reply.body))));
      assert.deepEqual(names.sort(), expected, namespace);
      assert.equal(answer?.untaken.late, 0, 'nobody else replied to the question before');
    }
  });
}

describe('remote control over RabbitMQ without workers, or without rights', () => {
  let rabbitmq: RabbitMq;
  before(async () => {
    rabbitmq = await startRabbitmq();
  });
  after(() => rabbitmq.remove());

  async function channelOf(t: TestContext) {
    const connection = await connect(rabbitmq.url);
    t.after(() => connection.close());
    return connection.createChannel();
  }

  /** A worker, by its queue. */
  async function addMailbox(channel: Channel, name: string): Promise<void> {
    await channel.assertExchange('celery.pidbox', 'fanout', { durable: false });
    await channel.assertQueue(name, { exclusive: true });
    await channel.bindQueue(name, 'celery.pidbox', '');
  }

  test('without workers there is nobody to ask, which takes no time, and nothing is left behind', async (t) => {
    const first = observed(t, 'RabbitMQ', rabbitmq.url);
    const session = await first.session();
    for (let count = 0; count < 3; count += 1) {
      const answer = await session.ask?.(question('stats', { timeoutMs: 60_000 }).question, NEVER);
      assert.deepEqual([answer?.receivers, answer?.taken], [0, 0]);
    }
    assert.ok(!(await rabbitmq.names('/')).some((each) => each.includes('pidbox')), 'none is declared');
    const channel = await channelOf(t);
    // As a worker does that has gone.
    await channel.assertExchange('celery.pidbox', 'fanout', { durable: false });
    await first.end();
    const other = observed(t, 'RabbitMQ', rabbitmq.url);
    const answer = await (await other.session()).ask?.(
      question('stats', { timeoutMs: 60_000 }).question,
      NEVER,
    );
    assert.deepEqual([answer?.receivers, answer?.taken], [0, 0], 'no queue is bound');
    const queues = await rabbitmq.ctl('--silent', 'list_queues', 'name', 'durable', 'exclusive');
    assert.match(
      queues.trim(),
      /^\S+\.reply\.celery\.pidbox\tfalse\ttrue$/mu,
      'ours goes with our connection',
    );
    assert.equal(queues.match(/reply\.celery\.pidbox/gu)?.length, 1);
    await other.end();
    assert.ok(!(await rabbitmq.names('/')).some((each) => each.endsWith('.reply.celery.pidbox')));
  });

  test('the documented permissions suffice; without them the session goes on, and it is said which are needed', async (t) => {
    const channel = await channelOf(t);
    await addMailbox(channel, 'w1@a.celery.pidbox');
    await channel.assertExchange('reply.celery.pidbox', 'direct', { durable: false });
    await channel.assertExchange('celeryev', 'topic', { durable: true });
    const ask = async (patterns: Partial<Permissions>, timeoutMs = DEADLINE_MS) => {
      await allow(rabbitmq, 'limited', patterns);
      const session = await observed(t, 'RabbitMQ', as(rabbitmq.url, 'limited')).session();
      return await session.ask?.(question('stats', { timeoutMs }).question, NEVER);
    };
    // Nobody replies.
    assert.deepEqual((await ask({}, 200))?.receivers, undefined);
    const own = '^celeryev\\..*$';
    await assert.rejects(
      ask({ configure: own }),
      /ACCESS.REFUSED.*needs these permissions: configure, write and read on "\*\.reply/iu,
    );
    await assert.rejects(
      ask({ read: '^celeryev(\\..*)?$' }),
      /ACCESS.REFUSED.*read on "reply\.celery\.pidbox"/iu,
    );
    await assert.rejects(
      ask({ write: '^(celeryev\\..*|.*\\.reply\\.celery\\.pidbox)$' }),
      /ACCESS.REFUSED/iu,
    );
    await channel.deleteExchange('reply.celery.pidbox');
    await assert.rejects(
      ask({}),
      /there is no exchange "reply\.celery\.pidbox" yet, and the user may not declare it/u,
    );
  });

  test('in an alarm questions fail at once; neither connections nor questions pile up', async (t) => {
    const session = await observed(t, 'RabbitMQ', rabbitmq.url).session();
    const channel = await channelOf(t);
    let questions = 0;
    await addMailbox(channel, 'w2@a.celery.pidbox');
    const count = (): void => {
      questions += 1;
    };
    await channel.consume('w2@a.celery.pidbox', count, { noAck: true });
    const ask = () => session.ask?.(question('ping', { timeoutMs: 200 }).question, NEVER);
    await ask();
    await rabbitmq.setAlarm(true);
    // RabbitMQ says so to those who publish.
    const reasons: string[] = [];
    while (reasons.length < 20)
      await Promise.resolve(ask()).catch((error: unknown) => void reasons.push(String(error)));
    assert.deepEqual(new Set(reasons), new Set(['Error: the broker blocks publishers: low on memory']));
    const connections = (await rabbitmq.ctl('--silent', 'list_connections', 'pid')).trim().split('\n');
    // Events, remote control, and that of this test.
    assert.equal(connections.length, 3);
    await rabbitmq.setAlarm(false);
    const before = questions;
    for (let isOver = false; !isOver; ) {
      isOver = await Promise.resolve(ask()).then(
        () => true,
        () => false,
      );
    }
    assert.ok(questions - before <= 3, `${questions - before} questions`);
  });
});

/** The set of workers with remote control, and a member of it. */
const WORKERS = '_kombu.binding.celery.pidbox';
const WORKER = `${SEPARATOR}${SEPARATOR}w1@a.celery.pidbox`;

describe('remote control over Redis without workers, or without rights', () => {
  let redis: Redis;
  let admin: Client;
  before(async () => {
    redis = await startRedis();
    admin = new Client(redis.url, { protocol: 2 });
    await admin.sadd(WORKERS, WORKER);
  });
  after(async () => {
    admin.disconnect();
    await redis.stop();
  });

  /** A worker that answers each question with these messages, in this order. */
  async function answering(
    t: TestContext,
    messagesFor: (ticket: string) => Promise<readonly Reply[]> | readonly Reply[],
  ): Promise<void> {
    const mailbox = new Client(redis.url, { protocol: 2 });
    t.after(() => mailbox.disconnect());
    await mailbox.subscribe('/0.celery.pidbox');
    mailbox.on('message', (_, text) => replyTo(admin, text, messagesFor));
  }

  test('workers that have remote control and do not listen are not the same as none', async (t) => {
    const session = await observed(t, 'Redis', redis.url).session();
    const answer = await session.ask?.(question('ping', { timeoutMs: 100 }).question, NEVER);
    assert.deepEqual([answer?.receivers, answer?.taken], [undefined, 0]);
  });

  test('a stop while workers reply leaves nothing behind', async (t) => {
    const worker = new Client(redis.url, { protocol: 2 });
    const other = new Client(redis.url, { protocol: 2 });
    t.after(() => worker.disconnect());
    t.after(() => other.disconnect());
    await worker.subscribe('/0.celery.pidbox');
    worker.on('message', async () => {
      // A worker looks up the binding first.
      for (const member of await other.smembers('_kombu.binding.reply.celery.pidbox')) {
        await new Promise((resolve) => setTimeout(resolve, 10));
        await other.lpush(member.split('\u0006\u0016')[2] ?? '', 'late');
      }
    });
    await Promise.all(
      Array.from({ length: 12 }, async (_, index) => {
        const { session, end } = observed(t, 'Redis', redis.url);
        const opened = await session();
        const { question: asked } = question('stats', { redis: { owner: `${index}`, separator: SEPARATOR } });
        const ending = new AbortController();
        const answer = Promise.resolve(opened.ask?.(asked, ending.signal)).catch(() => undefined);
        await new Promise((resolve) => setTimeout(resolve, 2 * index));
        ending.abort();
        await end();
        await answer;
      }),
    );
    assert.deepEqual((await admin.keys('*')).filter(isReply), []);
  });

  test('the documented rights suffice; without them the session goes on', async (t) => {
    const [, ...args] = documented(/^redis-cli ACL (SETUSER celery-otel .*)$/mu);
    await admin.call('ACL', 'SETUSER', ...args);
    const session = await observed(t, 'Redis', as(redis.url, 'celery-otel')).session();
    await answering(t, (ticket) => [{ ticket, body: '{"w1@a": 1}' }]);
    const ask = () => session.ask?.(question('ping').question, NEVER);
    assert.deepEqual(await ask(), {
      ...{ receivers: 1, taken: 1, audience: { listening: 1, mailboxes: new Set(['w1@a']) } },
      untaken: { late: 0, tooLarge: 0, unreadable: 0, beyond: 0 },
    });
    for (const right of ['eval', 'type', 'sscan', 'sadd', 'publish', 'rpop', 'srem']) {
      await admin.call('ACL', 'SETUSER', 'celery-otel', `-${right}`);
      const isSaid = /(?:NOPERM|The user executing the script can't).*docs\/brokers\.md/u;
      await assert.rejects(async () => ask(), isSaid, right);
      await admin.call('ACL', 'SETUSER', 'celery-otel', `+${right}`);
    }
    assert.equal((await ask())?.receivers, 1);
  });

  test('replies that are late, too large or malformed are counted, and the question ends with the one that is good', async (t) => {
    const session = await observed(t, 'Redis', redis.url).session();
    await answering(t, (ticket) => [
      { ticket: 'before', body: '{}' },
      'not JSON',
      { ticket, body: `"${'x'.repeat(3_000_000)}"` },
      { ticket, body: '{"w1@a": 1}' },
    ]);
    const { question: asked, replies } = question('stats');
    const answer = await session.ask?.(asked, NEVER);
    assert.deepEqual(answer?.untaken, { late: 1, tooLarge: 1, unreadable: 1, beyond: 0 });
    assert.deepEqual(
      replies.map(({ body }) => String(body)),
      ['{"w1@a": 1}'],
    );
  });

  test('a separator that occurs in a name is refused, and nothing is written', async (t) => {
    const session = await observed(t, 'Redis', redis.url).session();
    const { question: asked } = question('stats', {
      namespace: 'shop:eu',
      redis: { owner: 'test', separator: ':' },
    });
    await assert.rejects(async () => session.ask?.(asked, NEVER), /separator/u);
    assert.deepEqual((await admin.keys('*')).filter(isReply), []);
  });
});
