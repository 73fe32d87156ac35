/** Remote control over both brokers, with real workers of both versions of Celery. */
import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import type { RawMessage, Session } from '../../src/broker/broker.ts';
import type { ControlCommand } from '../../src/broker/control/commands.ts';
import type { ControlQuestion } from '../../src/broker/control/control.ts';
import { readQueues, readReply, readStats } from '../../src/celery/control-reply.ts';
import { BROKER_NAMES, type Broker, type BrokerName, startBroker } from '../real/brokers.ts';
import { type CeleryWorker, celeryFlavours, startWorker } from '../real/celery.ts';
import { amqpTransport } from './amqp/amqp-transport.ts';
import { addressOf } from './observed-session.ts';
import { redisTransport } from './redis/redis-transport.ts';

const NEVER = new AbortController().signal;

function question(command: ControlCommand, more: Partial<ControlQuestion> = {}) {
  const replies: RawMessage[] = [];
  return {
    replies,
    question: {
      ...{ command, namespace: 'celery', timeoutMs: 2000 },
      redis: { owner: 'test', separator: '\u0006\u0016' },
      take: (reply: RawMessage) =>
        replies.push({ ...reply, body: reply.body && Buffer.from(reply.body) }) < 0,
      ...more,
    },
  };
}

/** An open session, until the test ends. */
async function sessionOf(t: Pick<TestContext, 'after'>, name: BrokerName, url: string): Promise<Session> {
  const transport = name === 'RabbitMQ' ? amqpTransport() : redisTransport();
  const ending = new AbortController();
  const opening = await transport.open({
    ...{ url: addressOf(url), connectTimeoutMs: 5000, bodyBytesMax: 2_097_152, signal: ending.signal },
    onExchangeDeclared: () => undefined,
    onPublishFailed: () => undefined,
    onShed: () => undefined,
  });
  assert.equal(opening.kind, 'opened');
  assert.ok(opening.kind === 'opened');
  const ended = opening.session.receive(() => undefined);
  t.after(async () => {
    ending.abort();
    await ended;
  });
  return opening.session;
}

for (const name of BROKER_NAMES) {
  describe(`remote control over ${name}`, { timeout: 120_000 }, () => {
    let broker: Broker;
    let workers: readonly CeleryWorker[];
    before(async () => {
      broker = await startBroker(name);
      workers = await Promise.all(
        celeryFlavours().map((flavour) =>
          startWorker({
            ...{ broker: broker.url, backend: 'cache+memory://', flavour, nodename: `${flavour.name}@shop` },
            ...{ concurrency: 3, queues: ['orders', flavour.name] },
          }),
        ),
      );
    });
    after(async () => {
      await Promise.all(workers.map((worker) => worker.stop()));
      await broker.remove();
    });

    test('every worker tells its state and its queues', async (t) => {
      const session = await sessionOf(t, name, broker.url);
      const { question: asked, replies } = question('stats');
      const answer = await session.ask?.(asked, NEVER);
      const names = workers.map(({ nodename }) => nodename).sort();
      assert.deepEqual(answer, {
        receivers: name === 'Redis' ? 2 : undefined,
        taken: 2,
        untaken: { late: 0, tooLarge: 0, unreadable: 0, beyond: 0 },
      });
      const told = replies.map((reply) => readReply(reply, 0, readStats));
      assert.deepEqual(told.map((each) => ('nodename' in each ? each.nodename : '')).sort(), names);
      for (const each of told) {
        assert.ok(each.kind === 'answer');
        const { pool, processes, limit, autoscaler, prefetchLimit } = each.content;
        assert.deepEqual(
          { pool, processes, limit, autoscaler, prefetchLimit },
          { pool: 'prefork', processes: 3, limit: 3, autoscaler: undefined, prefetchLimit: 12 },
        );
        assert.ok(workers.some(({ pid }) => pid === each.content.pid));
        assert.deepEqual(each.implausible, []);
        const { uptimeS = 0, cpuUserS = 0, memoryMaxBytes = 0 } = each.content;
        assert.ok(uptimeS < 120 && cpuUserS > 0.1 && memoryMaxBytes > 10_000_000);
      }
      const queues = question('active_queues');
      await session.ask?.(queues.question, NEVER);
      assert.deepEqual(
        queues.replies
          .map((reply) => readReply(reply, 0, readQueues))
          .map((each) => (each.kind === 'answer' ? [each.nodename, each.content] : each))
          .sort(),
        workers.map(({ nodename }) => [nodename, ['orders', nodename.split('@', 1)[0]]]).sort(),
      );
    });

    test('a destination alone replies', async (t) => {
      const session = await sessionOf(t, name, broker.url);
      const { question: asked, replies } = question('ping', { destination: ['newest@shop'], timeoutMs: 500 });
      await session.ask?.(asked, NEVER);
      assert.deepEqual(
        replies.map((reply) => JSON.parse(String(reply.body))),
        [{ 'newest@shop': { ok: 'pong' } }],
      );
    });
  });
}
