/**
 * The Redis transport against a real Redis: what every transport must do, whom it refuses and why, and by which ways it
 * reaches a server.
 */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { DEADLINE_MS } from '../../deadline.ts';
import { makeCertificates } from '../../real/certificates.ts';
import { freePort } from '../../real/free-port.ts';
import { type Redis, type RedisOptions, startRedis } from '../../real/redis.ts';
import { type SentMessage, testConformance } from '../conformance.ts';
import { addressOf, observeSession } from '../observed-session.ts';
import { startRelay } from '../relay.ts';
import { startRedisPublisher } from './redis-publisher.ts';
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

const EVENT: SentMessage = {
  routingKey: 'worker.heartbeat',
  contentType: 'application/json',
  contentEncoding: 'utf-8',
  headers: { hostname: 'w1@shop' },
  body: Buffer.from('{"type":"worker-heartbeat"}'),
};

// With patterns, a message without a routing key would reach nobody who subscribes as Celery does.
testConformance('Redis', {
  create: () => redisTransport({ eventExchange: 'events', fanoutPatterns: false }),
  absent: () => addressOf(`redis://127.0.0.1:${deadPort}`),
  async open(t, messages) {
    const publisher = await startRedisPublisher(t, redis.url);
    return {
      session: { url: addressOf(redis.url) },
      send: async () => void (await publisher.publish('events', messages, { patterns: false })),
    };
  },
});

function session(t: TestContext, url: string, connectTimeoutMs = DEADLINE_MS) {
  return observeSession(t, redisTransport(), { url: addressOf(url), connectTimeoutMs });
}

/** Resolves if an event that is published to the server arrives in a session at that address. */
async function receives(t: TestContext, url: string, server = redis, credentials = ''): Promise<void> {
  const { ready, delivered, stopping, ended } = session(t, url);
  await ready();
  const publisher = await startRedisPublisher(t, server.url.replace('//', `//${credentials}`));
  await publisher.publish('celeryev', [EVENT]);
  const [message] = await delivered(1);
  assert.deepEqual(message?.body, EVENT.body);
  stopping.abort();
  await ended;
}

async function endOf(t: TestContext, url: string, connectTimeoutMs?: number) {
  const { ended, log } = session(t, url, connectTimeoutMs);
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

function as(user: string, password = PASSWORD): string {
  return redis.url.replace('//', `//${user}:${password}@`);
}

test('a user who may only subscribe to the events and ping is enough', async (t) => {
  await receives(t, as('monitor'));
});

test('the password of the default user is accepted, and without it the session is refused', async (t) => {
  const server = await started(t, { password: PASSWORD });
  await receives(t, server.url.replace('//', `//:${PASSWORD}@`), server, `:${PASSWORD}@`);
  const { kind, reason } = await endOf(t, server.url);
  assert.equal(kind, 'refused');
  assert.match(reason, /NOAUTH/);
});

for (const [who, user] of [
  ['a known', 'monitor'],
  ['an unknown', 'nobody'],
] as const) {
  test(`the wrong password of ${who} user is refused, and the reason does not contain it`, async (t) => {
    const { kind, reason } = await endOf(t, as(user, 'swordfish'));
    assert.equal(kind, 'refused');
    assert.match(reason, /WRONGPASS/);
    assert.doesNotMatch(reason, /swordfish/);
  });
}

test('a user without permission for the channels or the command is refused', async (t) => {
  for (const user of ['stranger', 'mute']) {
    const { kind, reason } = await endOf(t, as(user));
    assert.equal(kind, 'refused', user);
    assert.match(reason, /NOPERM/, user);
  }
});

test('a server certificate is accepted only with the configured CA', async (t) => {
  const { tlsUrl, certificates } = redis;
  assert.ok(tlsUrl !== undefined && certificates !== undefined);
  const folder = mkdtempSync(join(tmpdir(), 'celery-otel-tls-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const other = makeCertificates(join(folder, 'other'));
  const trusting = (caFile: string) => `${tlsUrl}?ssl_ca_certs=${encodeURIComponent(caFile)}`;
  await receives(t, trusting(certificates.caFile));
  await receives(t, `${tlsUrl}?ssl_cert_reqs=none`);

  for (const url of [tlsUrl, trusting(other.caFile)]) {
    const { kind, reason } = await endOf(t, url);
    assert.equal(kind, 'unreachable');
    assert.match(reason, /certificate/);
  }
  const unreadable = await endOf(t, trusting('/nowhere/ca.pem'));
  assert.equal(unreadable.kind, 'refused');
  assert.match(unreadable.reason, /^cannot read ssl_ca_certs: ENOENT.*\/nowhere\/ca\.pem/);
  assert.equal(
    (await endOf(t, tlsUrl.replace('rediss:', 'redis:'))).kind,
    'unreachable',
    'plain text to TLS',
  );
  assert.equal(
    (await endOf(t, redis.url.replace('redis:', 'rediss:'), 500)).kind,
    'unreachable',
    'TLS to plain text',
  );
});

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

test('a Redis in cluster mode is refused, with what to do about it', async (t) => {
  const server = await started(t, {
    configuration: ['cluster-enabled yes', `cluster-port ${await freePort()}`],
  });
  const { kind, reason } = await endOf(t, server.url);
  assert.equal(kind, 'refused');
  assert.match(reason, /only if a hash tag in global_keyprefix.*not in cluster mode/);
});

test('a Redis in cluster mode is used like any other with a hash tag, which puts all keys into one slot', async (t) => {
  const server = await started(t, {
    configuration: ['cluster-enabled yes', `cluster-port ${await freePort()}`],
  });
  const { client } = await startRedisPublisher(t, server.url);
  await client.call('CLUSTER', 'ADDSLOTSRANGE', 0, 16_383);
  const globalKeyprefix = '{q}:';
  const transport = redisTransport({ globalKeyprefix });
  const { ready, delivered } = observeSession(t, transport, { url: addressOf(server.url) });
  await ready();
  // The state of a cluster is only ok some time after its slots were given.
  await t.waitFor(
    async () => {
      await client.publish('{q}:/0.celeryev/worker.heartbeat', ENVELOPE);
      assert.ok((await Promise.race([delivered(1), soon()])).length > 0);
    },
    { timeout: DEADLINE_MS },
  );
});

const ENVELOPE = JSON.stringify({
  body: Buffer.from('{}').toString('base64'),
  'content-type': 'application/json',
  'content-encoding': 'utf-8',
  headers: {},
  properties: {
    body_encoding: 'base64',
    delivery_info: { exchange: 'celeryev', routing_key: 'worker.heartbeat' },
  },
});

const soon = async (): Promise<readonly never[]> => {
  await delay(50);
  return [];
};

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

test('a missing reply ends the attempt after the connect timeout', async (t) => {
  const relay = await startRelay(t, redis.port);
  relay.silence();
  const end = await endOf(t, `redis://127.0.0.1:${relay.port}`, 300);
  assert.deepEqual(end, { kind: 'unreachable', reason: 'no reply within 300 ms' });
  await relay.deserted();
});
