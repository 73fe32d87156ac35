/**
 * How a session at a real Redis ends: the server goes silent, cuts it off, restarts, or drops a subscriber that is too slow;
 * and that the next one works.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type Redis, type RedisOptions, startRedis } from '../../real/redis.ts';
import type { SentMessage } from '../conformance.ts';
import { addressOf, type Given, observeSession } from '../observed-session.ts';
import { startRelay } from '../relay.ts';
import { envelopeOf, startRedisPublisher } from './redis-publisher.ts';
import { redisTransport } from './redis-transport.ts';

/** Both are noticed by a check each second. */
const SOON = { healthCheckIntervalMs: 1000, socketTimeoutMs: 1000 };

const EVENT: SentMessage = {
  routingKey: 'worker.heartbeat',
  contentType: 'application/json',
  contentEncoding: 'utf-8',
  headers: { hostname: 'w1@shop' },
  body: Buffer.from('{"type":"worker-heartbeat"}'),
};

async function started(t: TestContext, options?: RedisOptions): Promise<Redis> {
  const redis = await startRedis(options);
  t.after(() => redis.stop());
  return redis;
}

/** An open session at the server. */
async function opened(
  t: TestContext,
  url: string,
  transport = redisTransport(),
  given: Omit<Given, 'url'> = {},
) {
  const session = observeSession(t, transport, { url: addressOf(url), ...given });
  await session.ready();
  return session;
}

test('a paused server is noticed within the configured times, and the session is lost', async (t) => {
  const redis = await started(t);
  const { ended } = await opened(t, redis.url, redisTransport(SOON));
  redis.pause();
  assert.deepEqual(await ended, { kind: 'lost', reason: 'no reply within 2000 ms' });
  redis.resume();
});

test('a shorter pause loses neither the session nor an event, and is not listened time', async (t) => {
  const redis = await started(t);
  const transport = redisTransport();
  const { delivered } = await opened(t, redis.url, transport);
  const publisher = await startRedisPublisher(t, redis.url);
  redis.pause();
  const published = publisher.publish('celeryev', [EVENT]);
  const pausedAtMs = transport.listenedMs();
  await delay(3000);
  // What was on its way counts, up to the most between two signs of life.
  assert.ok(transport.listenedMs() - pausedAtMs <= 1500);
  redis.resume();
  assert.equal(await published, 1);
  assert.equal((await delivered(1)).length, 1);
});

test('a server that is silent from the start is unreachable', async (t) => {
  const redis = await started(t);
  redis.pause();
  const { ended } = observeSession(t, redisTransport(), { url: addressOf(redis.url), connectTimeoutMs: 300 });
  assert.deepEqual(await ended, { kind: 'unreachable', reason: 'no reply within 300 ms' });
  redis.resume();
});

test('a network that drops everything is noticed, and our side is closed', async (t) => {
  const redis = await started(t);
  const relay = await startRelay(t, redis.port);
  const { ended } = await opened(t, `redis://127.0.0.1:${relay.port}`, redisTransport(SOON));
  relay.silence();
  assert.deepEqual(await ended, { kind: 'lost', reason: 'no reply within 2000 ms' });
  await relay.deserted();
});

test('it stops quickly while the server is silent', async (t) => {
  const redis = await started(t);
  const relay = await startRelay(t, redis.port);
  const { ended, stopping } = await opened(t, `redis://127.0.0.1:${relay.port}`);
  relay.silence();
  stopping.abort();
  assert.deepEqual(await ended, { kind: 'stopped' });
  await relay.deserted();
});

const ENDS = {
  'closed by an administrator': (redis, t) =>
    startRedisPublisher(t, redis.url).then(({ client }) => client.call('CLIENT', 'KILL', 'TYPE', 'pubsub')),
  'restarted in order': (redis) => redis.restart(),
  'killed and started again': (redis) => redis.kill().then(() => redis.start()),
} satisfies Readonly<Record<string, (redis: Redis, t: TestContext) => Promise<unknown>>>;

for (const [how, end] of Object.entries(ENDS)) {
  test(`a session is lost if it is ${how}, and the next one receives events`, async (t) => {
    const redis = await started(t);
    const transport = redisTransport();
    const { ended } = await opened(t, redis.url, transport);
    await end(redis, t);
    const lost = await ended;
    assert.ok(lost.kind === 'lost');
    assert.match(lost.reason, /closed the connection|ECONNRESET/);
    const { delivered } = await opened(t, redis.url, transport);
    const publisher = await startRedisPublisher(t, redis.url);
    await publisher.publish('celeryev', [EVENT]);
    assert.equal((await delivered(1)).length, 1);
  });
}

test('a session is lost if the password is changed and the connection cut, and the next one is refused', async (t) => {
  const redis = await started(t, { users: ['monitor on >hunter2 allchannels +@all'] });
  const url = redis.url.replace('//', '//monitor:hunter2@');
  const transport = redisTransport();
  const { ended } = await opened(t, url, transport);
  const { client } = await startRedisPublisher(t, redis.url);
  await client.acl('SETUSER', 'monitor', 'resetpass', '>swordfish');
  await client.client('KILL', 'USER', 'monitor');
  assert.equal((await ended).kind, 'lost');
  const next = observeSession(t, transport, { url: addressOf(url) });
  assert.equal((await next.ended).kind, 'refused');
});

test('a session is lost if the permission for its channels is taken away', async (t) => {
  const redis = await started(t, { users: ['monitor on >hunter2 resetchannels &/0.celeryev/* +@all'] });
  const { ended } = await opened(t, redis.url.replace('//', '//monitor:hunter2@'));
  const { client } = await startRedisPublisher(t, redis.url);
  await client.acl('SETUSER', 'monitor', 'resetchannels');
  assert.equal((await ended).kind, 'lost');
});

test('a flood beyond what the server keeps for us is dropped unread and reported, and the session goes on', async (t) => {
  const MESSAGES = 2500;
  const redis = await started(t);
  let shed = 0;
  let delivered = 0;
  const last = Promise.withResolvers<void>();
  const { stopping, ended } = await opened(t, redis.url, redisTransport(), {
    onShed: (messages) => {
      shed += messages;
    },
    deliver: ({ body }) => {
      delivered += 1;
      if (String(body) === 'last') last.resolve();
      busy(3);
    },
  });
  const publisher = await startRedisPublisher(t, redis.url);
  const channel = '/0.celeryev/worker.heartbeat';
  const envelope = envelopeOf('celeryev', { ...EVENT, body: Buffer.alloc(7000, ' ') });
  // All at once: 24 MB, of which Redis keeps 32 for a subscriber.
  const script = "for _ = 1, ARGV[2] do redis.call('PUBLISH', KEYS[1], ARGV[1]) end";
  await publisher.client.eval(script, 1, channel, envelope, MESSAGES);
  let published = MESSAGES;
  let isThere = false;
  const done = last.promise.then(() => {
    isThere = true;
  });
  // Until it has caught up, it drops these too.
  while (!isThere) {
    await publisher.publish('celeryev', [{ ...EVENT, body: Buffer.from('last') }]);
    published += 1;
    await Promise.race([done, delay(200)]);
  }
  stopping.abort();
  assert.deepEqual(await ended, { kind: 'stopped' });
  assert.ok(shed > 0, 'some were dropped');
  assert.ok(shed < MESSAGES && delivered + shed <= published, `${delivered} and ${shed} of ${published}`);
  assert.ok(delivered + shed >= MESSAGES, 'each was delivered or counted');
});

test('a subscriber that the server drops for being too slow is lost', async (t) => {
  const redis = await started(t, {
    configuration: ['client-output-buffer-limit pubsub 1mb 1mb 60'],
  });
  const { ended } = await opened(t, redis.url);
  const publisher = await startRedisPublisher(t, redis.url);
  // Together, before it is sent to anyone.
  const script = "for _ = 1, 300 do redis.call('PUBLISH', KEYS[1], ARGV[1]) end";
  const envelope = envelopeOf('celeryev', { ...EVENT, body: Buffer.alloc(40_000, ' ') });
  await publisher.client.eval(script, 1, '/0.celeryev/worker.heartbeat', envelope);
  assert.equal((await ended).kind, 'lost');
});

test('a flood leaves time for other work in each turn of the event loop', async (t) => {
  const FLOOD = 400;
  const redis = await started(t);
  const deliveredAt: number[] = [];
  let turn = 0;
  const counting = setInterval(() => {
    turn += 1;
  }, 0);
  t.after(() => clearInterval(counting));
  const done = Promise.withResolvers<void>();
  await opened(t, redis.url, redisTransport(), {
    deliver() {
      // What is sent while the first message is handled arrives at once.
      busy(deliveredAt.length === 0 ? 300 : 1);
      deliveredAt.push(turn);
      if (deliveredAt.length === FLOOD) done.resolve();
    },
  });
  const publisher = await startRedisPublisher(t, redis.url);
  await publisher.publish('celeryev', Array(FLOOD).fill({ ...EVENT, body: Buffer.alloc(10_000, ' ') }));
  await done.promise;
  const inOneTurn = Map.groupBy(deliveredAt, (each) => each);
  const most = Math.max(...Array.from(inOneTurn.values(), ({ length }) => length));
  assert.ok(most < 60, `${most} messages in one turn`);
});

function busy(ms: number): void {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs);
}
