/**
 * The Redis transport against a real Redis: what every transport must do, whom it refuses and why, by which ways it
 * reaches a server, and what becomes of a session that is cut off or too slow.
 */

import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { DEADLINE_MS } from '../../deadline.ts';
import { freePort } from '../../real/free-port.ts';
import { type Redis, type RedisOptions, startRedis } from '../../real/redis.ts';
import { HEARTBEAT, type ServerUnderTest, testConformance, testServer } from '../conformance.ts';
import { addressOf, type Given, observeSession } from '../observed-session.ts';
import { envelopeOf, startRedisPublisher } from './redis-publisher.ts';
import { redisTransport } from './redis-transport.ts';

const PASSWORD = 'hunter2';

let redis: Redis;
let deadPort: number;
before(async () => {
  deadPort = await freePort();
  redis = await startRedis({
    tls: 'server-only',
    unixSocket: true,
    users: [
      `monitor on >${PASSWORD} resetchannels &/0.celeryev/* -@all +psubscribe +ping`,
      `stranger on >${PASSWORD} resetchannels &/1.celeryev/* -@all +psubscribe +ping +info`,
      `mute on >${PASSWORD} allchannels -@all +ping`,
    ],
  });
});
after(() => redis.stop());

// With patterns, a message without a routing key would reach nobody who subscribes as Celery does.
const LAYOUT = { eventExchange: 'events', fanoutPatterns: false };
const SUBJECT: ServerUnderTest = {
  create: () => redisTransport(LAYOUT),
  absent: () => addressOf(`redis://127.0.0.1:${deadPort}`),
  async open(t, messages) {
    const publisher = await startRedisPublisher(t, redis.url);
    return {
      session: { url: addressOf(redis.url) },
      send: async () => void (await publisher.publish('events', messages, { patterns: false })),
    };
  },
  port: () => redis.port,
  at: (port) => addressOf(`redis://127.0.0.1:${port}`),
  // The sum of both.
  impatient: () => redisTransport({ ...LAYOUT, healthCheckIntervalMs: 3000, socketTimeoutMs: 3000 }),
  patienceMs: 6000,
};
testConformance('Redis', SUBJECT);
testServer('Redis', SUBJECT);

function session(t: TestContext, url: string) {
  return observeSession(t, redisTransport(), { url: addressOf(url) });
}

/** Resolves if an event that is published to the server arrives in a session at that address. */
async function receives(t: TestContext, url: string, server = redis, credentials = ''): Promise<void> {
  const { ready, delivered, stopping, ended } = session(t, url);
  await ready();
  const publisher = await startRedisPublisher(t, server.url.replace('//', `//${credentials}`));
  await publisher.publish('celeryev', [HEARTBEAT]);
  const [message] = await delivered(1);
  assert.deepEqual(message?.body, HEARTBEAT.body);
  stopping.abort();
  await ended;
}

async function endOf(t: TestContext, url: string) {
  const { ended, log } = session(t, url);
  const end = await Promise.race([ended, log.reaches(1)]);
  assert.ok('kind' in end, 'it never was ready');
  assert.ok('reason' in end);
  return end;
}

async function started(t: TestContext, options: RedisOptions): Promise<Redis> {
  const server = await startRedis(options);
  t.after(() => server.stop());
  return server;
}

const as = (login: string): string => redis.url.replace('//', `//${login}@`);

test('a user who may only subscribe to the events and ping is enough', async (t) => {
  await receives(t, as(`monitor:${PASSWORD}`));
});

test('the password of the default user is accepted, and without it the session is refused', async (t) => {
  const server = await started(t, { password: PASSWORD });
  await receives(t, server.url.replace('//', `//:${PASSWORD}@`), server, `:${PASSWORD}@`);
  const { kind, reason } = await endOf(t, server.url);
  assert.equal(kind, 'refused');
  assert.match(reason, /NOAUTH/);
});

for (const [who, login, expected] of [
  ['the wrong password of a known user', 'monitor:swordfish', /WRONGPASS/u],
  ['the wrong password of an unknown user', 'nobody:swordfish', /WRONGPASS/u],
  ['a user without permission for the channels', `stranger:${PASSWORD}`, /NOPERM/u],
  ['a user without permission for the command', `mute:${PASSWORD}`, /NOPERM/u],
] as const) {
  test(`${who} is refused, and the reason does not contain the password`, async (t) => {
    const { kind, reason } = await endOf(t, as(login));
    assert.equal(kind, 'refused');
    assert.match(reason, expected);
    assert.doesNotMatch(reason, /swordfish|hunter2/u);
  });
}

test('a server that asks for a client certificate gets the configured one', async (t) => {
  const server = await started(t, { tls: 'mutual' });
  const { tlsUrl, certificates } = server;
  assert.ok(tlsUrl !== undefined && certificates !== undefined);
  const ca = `?ssl_ca_certs=${encodeURIComponent(certificates.caFile)}`;
  const own = `&ssl_certfile=${encodeURIComponent(certificates.certFile)}&ssl_keyfile=${encodeURIComponent(certificates.keyFile)}`;
  await receives(t, `${tlsUrl}${ca}${own}`, server);
  const { kind, reason } = await endOf(t, `${tlsUrl}${ca}`);
  assert.equal(kind, 'unreachable');
  assert.match(reason, /certificate/);
});

test('a Unix socket is reached, and a missing one is unreachable with its path in the reason', async (t) => {
  const { socketPath } = redis;
  assert.ok(socketPath !== undefined);
  await receives(t, `redis+socket://${socketPath}`);
  await receives(t, `redis+socket://monitor:${PASSWORD}@${socketPath}`);
  const { signal } = new AbortController();
  const reachable = (path: string) =>
    redisTransport().reachable?.(addressOf(`redis+socket://${path}`), signal);
  assert.equal(await reachable(socketPath), true);
  assert.equal(await reachable(`${socketPath}-not`), false);
  const { kind, reason } = await endOf(t, `redis+socket://${socketPath}-not`);
  assert.equal(kind, 'unreachable');
  assert.ok(reason.includes(`${socketPath}-not`), reason);
});

test('our connection has our name and goes with the session', async (t) => {
  const { client } = await startRedisPublisher(t, redis.url);
  const names = async () => String(await client.client('LIST')).match(/(?<= name=)\S*celery-otel\S*/g) ?? [];
  const { ready, stopping, ended } = session(t, redis.url);
  await ready();
  assert.match((await names()).join(), /^celery-otel-[0-9a-f]{8}$/u);
  stopping.abort();
  await ended;
  await t.waitFor(async () => assert.deepEqual(await names(), []), { timeout: DEADLINE_MS });
});

async function opened(
  t: TestContext,
  server: Redis,
  transport = redisTransport(),
  given: Omit<Given, 'url'> = {},
) {
  const session = observeSession(t, transport, { url: addressOf(server.url), ...given });
  await session.ready();
  return session;
}

test('a shorter pause loses neither the session nor an event, and is not listened time', async (t) => {
  const server = await started(t, {});
  const transport = redisTransport();
  const { delivered } = await opened(t, server, transport);
  const publisher = await startRedisPublisher(t, server.url);
  server.pause();
  const published = publisher.publish('celeryev', [HEARTBEAT]);
  const pausedAtMs = transport.listenedMs();
  await delay(3000);
  // What was on its way counts, up to the most between two signs of life.
  assert.ok(transport.listenedMs() - pausedAtMs <= 1500);
  server.resume();
  assert.equal(await published, 1);
  assert.equal((await delivered(1)).length, 1);
});

test('a session is lost if it is closed by an administrator, and the next one receives events', async (t) => {
  const server = await started(t, {});
  const transport = redisTransport();
  const { ended } = await opened(t, server, transport);
  const publisher = await startRedisPublisher(t, server.url);
  await publisher.client.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
  const lost = await ended;
  assert.ok(lost.kind === 'lost');
  assert.match(lost.reason, /closed the connection|ECONNRESET/);
  const { delivered } = await opened(t, server, transport);
  await publisher.publish('celeryev', [HEARTBEAT]);
  assert.equal((await delivered(1)).length, 1);
});

test('a flood beyond what the server keeps for us is dropped unread and reported, and the session goes on', async (t) => {
  const MESSAGES = 2500;
  const server = await started(t, {});
  let shed = 0;
  let delivered = 0;
  const last = Promise.withResolvers<void>();
  const { stopping, ended } = await opened(t, server, redisTransport(), {
    onShed: (messages) => {
      shed += messages;
    },
    deliver: ({ body }) => {
      delivered += 1;
      if (String(body) === 'last') last.resolve();
      for (const endMs = performance.now() + 3; performance.now() < endMs; );
    },
  });
  const publisher = await startRedisPublisher(t, server.url);
  const channel = '/0.celeryev/worker.heartbeat';
  const envelope = envelopeOf('celeryev', { ...HEARTBEAT, body: Buffer.alloc(7000, ' ') });
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
    await publisher.publish('celeryev', [{ ...HEARTBEAT, body: Buffer.from('last') }]);
    published += 1;
    await Promise.race([done, delay(200)]);
  }
  stopping.abort();
  assert.deepEqual(await ended, { kind: 'stopped' });
  assert.ok(shed > 0, 'some were dropped');
  assert.ok(shed < MESSAGES && delivered + shed <= published, `${delivered} and ${shed} of ${published}`);
  assert.ok(delivered + shed >= MESSAGES, 'each was delivered or counted');
});
