/**
 * Servers that break their protocol, at each of our connections and at each moment of it: that ends the connection, with a reason that
 * is counted, and it is made again. Another service of the process does not notice.
 */
import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import { REPLY_BYTES_MAX } from '../../src/broker/redis/reply-bounds.ts';
import { until } from '../until.ts';
import { startScriptedBroker } from './amqp/scripted-broker.ts';
import { attend, type Part } from './attended-service.ts';
import { OF_AMQP, OF_REDIS } from './malformed-bytes.ts';
import { published, startScriptedRedis, TAKING } from './redis/scripted-redis.ts';

const NOTHING = Buffer.alloc(0);
/** A command of Redis, after whose answer it begins. */
const REDIS_MOMENTS: readonly (readonly [part: Part | 'events', command: string])[] = [
  ['events', 'CLIENT'],
  ['events', 'INFO'],
  ['events', 'PSUBSCRIBE'],
  ['polls', 'CLIENT'],
  ['polls', 'SSCAN'],
  ['polls', 'LLEN'],
  ['control', 'EVAL'],
  ['control', TAKING],
  ['control', 'DEL'],
  ['instances', 'CLIENT'],
];

/**
 * A method of the client, by class and method, after whose answer it begins. The first is its header. None is a call
 * after which the client closes the channel: it ignores what then arrives there (AMQP 0-9-1, 1.5.2.5).
 */
const AMQP_MOMENTS: Readonly<Record<Part | 'events', readonly string[]>> = {
  events: ['', '10.11', '10.40', '20.10', '50.10', '60.20'],
  polls: ['', '10.11', '10.40', '20.10', '50.10'],
  control: ['', '10.11', '10.40', '20.10', '40.10', '60.20'],
  instances: [],
};

/** @param due whether the server breaks the protocol now; it does so once */
type Start = (t: TestContext, due: () => boolean) => Promise<string>;

/** The server breaks the protocol in the first session, or when that part asks for the first time. */
async function survives(t: TestContext, part: Part | 'events', start: Start): Promise<void> {
  let isDue = part === 'events';
  const url = await start(t, () => {
    const was = isDue;
    isDue = false;
    return was;
  });
  const service = attend(t, url);
  if (part === 'events') {
    await service.connected(1);
    const [first] = service.ends();
    assert.equal(first?.end, 'malformed', first?.reason);
    return;
  }
  await service.connected();
  isDue = true;
  const succeeds = (): Promise<boolean> =>
    service.ask(part).then(
      () => true,
      () => false,
    );
  await until('it has asked', async () => {
    await succeeds();
    return !isDue;
  });
  await until('it asks again', succeeds);
  assert.deepEqual(service.ends(), [], 'the events go on');
}

/** The server breaks the protocol while it is listened to. @returns with which reason the session ends, once */
async function breaksWhileListening(t: TestContext, url: string, act: () => void): Promise<string> {
  const service = attend(t, url);
  await service.connected();
  act();
  await service.connected(1);
  const [end, ...more] = service.ends();
  assert.deepEqual([end?.end, more], ['malformed', []]);
  return end?.reason ?? '';
}

describe('a server that breaks its protocol', { concurrency: true }, () => {
  let reported = 0;
  let neighbour: ReturnType<typeof attend>;
  let tellNeighbour: () => void;
  const atTheEnd: (() => unknown)[] = [];
  before(async () => {
    const ending = { after: (end: () => unknown) => void atTheEnd.push(end) };
    const { url, publish } = await startScriptedRedis(ending);
    neighbour = attend(ending, url);
    await neighbour.connected();
    tellNeighbour = () => {
      reported += 1;
      publish(published('/0.celeryev/task.sent', `${reported}`));
    };
  });
  after(async () => {
    await neighbour.bodies.reaches(reported);
    assert.deepEqual(neighbour.ends(), [], 'the neighbour has noticed');
    for (const end of atTheEnd.reverse()) await end();
  });

  for (const [what, bytes] of Object.entries(OF_REDIS)) {
    for (const [part, command] of REDIS_MOMENTS) {
      test(`${what} of Redis after ${command}, for ${part}`, async (t) => {
        await survives(t, part, async (_, due) => {
          const { url } = await startScriptedRedis(t, (name, _args, answer) =>
            name === command && due() ? answer + bytes : undefined,
          );
          return url;
        });
        tellNeighbour();
      });
    }

    test(`${what} of Redis, while it is listened to`, async (t) => {
      const { url, publish } = await startScriptedRedis(t);
      await breaksWhileListening(t, url, () => publish(bytes));
      tellNeighbour();
    });

    test(`${what} of a sentinel`, async (t) => {
      let isFirst = true;
      const { port } = await startScriptedRedis(t, (name) => {
        const isDue = name === 'SENTINEL' && isFirst;
        if (isDue) isFirst = false;
        return isDue ? bytes : undefined;
      });
      await attend(t, `sentinel://127.0.0.1:${port}/0`).connected(1);
      tellNeighbour();
    });
  }

  for (const [what, beginning] of [
    ['a message', '*4\r\n$8\r\npmessage\r\n$1\r\n*\r\n$1\r\nc\r\n$536870912\r\n'],
    ['a line', '+'],
  ] as const) {
    test(`${what} of Redis that goes on and on`, async (t) => {
      const { url, publish } = await startScriptedRedis(t);
      const endless = Buffer.concat([Buffer.from(beginning), Buffer.alloc(REPLY_BYTES_MAX, 'x')]);
      const reason = await breaksWhileListening(t, url, () => publish(endless));
      assert.match(reason, / has more than \d+ bytes/u);
      tellNeighbour();
    });
  }

  test('a long message of Redis is dropped, and the session goes on', async (t) => {
    const { url, publish } = await startScriptedRedis(t);
    const service = attend(t, url);
    await service.connected();
    publish(published('/0.celeryev/task.sent', 'x'.repeat(REPLY_BYTES_MAX / 2)));
    // While so much arrives, those after it may be dropped unread.
    await until('a short one is delivered', () => {
      publish(published('/0.celeryev/task.sent', 'short'));
      return service.bodies.items.length > 0;
    });
    assert.deepEqual(service.ends(), []);
  });

  for (const [what, bytes] of Object.entries(OF_AMQP)) {
    for (const [part, moments] of Object.entries(AMQP_MOMENTS)) {
      for (const moment of moments) {
        test(`${what} of RabbitMQ after ${moment || 'the header'}, for ${part}`, async (t) => {
          await survives(t, isPart(part) ? part : 'events', async (_, due) => {
            const { url } = await startScriptedBroker(t, NOTHING, (name, _channel, reply = NOTHING) =>
              name === moment && due() ? Buffer.concat([reply, bytes]) : undefined,
            );
            return url;
          });
          tellNeighbour();
        });
      }
    }

    test(`${what} of RabbitMQ, while it is listened to`, async (t) => {
      const { url, send } = await startScriptedBroker(t);
      await breaksWhileListening(t, url, () => send(bytes));
      tellNeighbour();
    });

    test(`${what} of RabbitMQ, while the connection is closed`, async (t) => {
      const { url } = await startScriptedBroker(t, NOTHING, (name) => (name === '10.50' ? bytes : undefined));
      const service = attend(t, url);
      await service.connected();
      await service.stop();
      tellNeighbour();
    });
  }
});

function isPart(text: string): text is Part {
  return text in AMQP_MOMENTS && text !== 'events';
}
