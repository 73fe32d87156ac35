/** That the Redis servers, the sentinels and the workers on them are what other tests take them for. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Redis as Client, type RedisOptions } from 'ioredis';
import { celeryFlavours, startWorker } from './celery.ts';
import { isPortOpen } from './free-port.ts';
import { type Redis, startRedis } from './redis.ts';
import { MASTER_NAME, startSentinels } from './sentinels.ts';
import { placeOrders } from './shop-report.ts';

type ClientOptions = Omit<RedisOptions, 'replyMapping'>;

/** Connects without trying again; rejects if that is not possible. */
async function connected(t: TestContext, url: string, options: ClientOptions = {}): Promise<Client> {
  const client = new Client(url, { lazyConnect: true, retryStrategy: null, ...options });
  client.on('error', () => undefined);
  t.after(() => client.disconnect());
  await client.connect();
  return client;
}

async function started(t: TestContext, options?: Parameters<typeof startRedis>[0]): Promise<Redis> {
  const redis = await startRedis(options);
  t.after(() => redis.stop());
  return redis;
}

test('a Redis server returns on its port, empty and with another pid, after a restart or a kill', async (t) => {
  const redis = await started(t, { unixSocket: true });
  const { socketPath } = redis;
  assert.ok(socketPath !== undefined);
  const pids = new Set<number>();
  for (const end of [() => redis.restart(), () => redis.kill().then(() => redis.start())]) {
    pids.add(redis.pid);
    const client = await connected(t, redis.url);
    await client.set('cup', 'full');
    await end();
    assert.equal(await (await connected(t, redis.url)).exists('cup'), 0);
    assert.equal(await (await connected(t, socketPath)).ping(), 'PONG');
  }
  pids.add(redis.pid);
  assert.equal(pids.size, 3);
  await redis.kill();
  assert.equal(await isPortOpen(redis.port), false);
  await redis.stop();
  await redis.stop();
  assert.equal(existsSync(dirname(socketPath)), false);
});

test('a paused Redis server answers when it is resumed, and can be stopped while paused', async (t) => {
  const redis = await started(t);
  const client = await connected(t, redis.url, { commandTimeout: 300 });
  redis.pause();
  await assert.rejects(client.ping(), /timed out/);
  redis.resume();
  const again = await connected(t, redis.url);
  assert.equal(await again.ping(), 'PONG');
  redis.pause();
  await redis.stop();
  assert.equal(await isPortOpen(redis.port), false);
});

test('a Redis server with TLS has a certificate of its own CA only, and with mTLS asks clients for one', async (t) => {
  for (const tls of ['server-only', 'mutual'] as const) {
    const { tlsUrl, certificates } = await started(t, { tls });
    assert.ok(tlsUrl !== undefined && certificates !== undefined);
    const ca = readFileSync(certificates.caFile);
    const own = { cert: readFileSync(certificates.certFile), key: readFileSync(certificates.keyFile) };
    assert.equal(await (await connected(t, tlsUrl, { tls: { ca, ...own } })).ping(), 'PONG');
    await assert.rejects(connected(t, tlsUrl));
    const anonymous = connected(t, tlsUrl, { tls: { ca } });
    if (tls === 'mutual') await assert.rejects(anonymous);
    else assert.equal(await (await anonymous).ping(), 'PONG');
  }
});

test('a Redis server has the password, the users and the configuration that it is given', async (t) => {
  const redis = await started(t, {
    password: 'secret',
    users: ['monitor on >hunter2 resetchannels &news +psubscribe +ping'],
    configuration: ['databases 3'],
  });
  await assert.rejects(connected(t, redis.url), 'without the password');
  const admin = await connected(t, redis.url, { password: 'secret' });
  assert.deepEqual(await admin.config('GET', 'databases'), ['databases', '3']);
  const credentials = { username: 'monitor', password: 'hunter2', enableReadyCheck: false };
  const monitor = await connected(t, redis.url, credentials);
  await assert.rejects(monitor.psubscribe('other'), /NOPERM/);
  assert.equal(await monitor.psubscribe('news'), 1);
});

test('a Redis server that cannot start is rejected with the end of its log', async () => {
  await assert.rejects(startRedis({ configuration: ['no-such-line 1'] }), /no-such-line/);
});

test('sentinels replace a killed master by the replica, and all stop', async (t) => {
  const group = await startSentinels({ password: 'secret', sentinelPassword: 'hunter2' });
  t.after(() => group.stop());
  const sentinels = group.url.split(';').map((url) => Number(new URL(url).port));
  assert.equal(sentinels.length, 3);
  const [first] = sentinels;
  const throughSentinels = {
    sentinels: [{ host: '127.0.0.1', port: first ?? 0 }],
    ...{ name: MASTER_NAME, sentinelPassword: 'hunter2', password: 'secret' },
  };
  const publish = async () => {
    const client = await connected(t, '', throughSentinels);
    return client.publish('news', 'x');
  };
  assert.equal(await publish(), 0);
  const old = await group.master();
  const master = await group.failOver();
  assert.notEqual(master.port, old.port);
  assert.equal(await isPortOpen(old.port), false);
  const client = await connected(t, master.url, { password: 'secret' });
  assert.match(await client.info('replication'), /role:master/);
  assert.equal(await publish(), 0);
  await group.stop();
  for (const port of [...sentinels, master.port, old.port]) assert.equal(await isPortOpen(port), false);
});

for (const flavour of celeryFlavours()) {
  test(`workers and clients of Celery ${flavour.version} take the transport options of Redis`, async (t) => {
    const redis = await started(t, { password: 'secret' });
    const broker = redis.url.replace('//', '//:secret@').replace(/0$/u, '3');
    const transportOptions = {
      global_keyprefix: 'pfx:',
      fanout_prefix: false,
      fanout_patterns: false,
      sep: ':',
      priority_steps: [0, 5],
    } as const;
    const cluster = { flavour, broker, backend: broker, transportOptions };
    const spy = await connected(t, redis.url, { password: 'secret' });
    const channels = new Set<string>();
    spy.on('pmessage', (_pattern, channel) => channels.add(channel));
    await spy.psubscribe('*');
    const worker = await startWorker({ ...cluster, nodename: 'w@shop', pool: 'solo' });
    t.after(() => worker.kill());
    const report = await placeOrders({ ...cluster, orders: 2, only: 'receipt' });
    assert.deepEqual(report.tasks['shop.send_receipt']?.states, { SUCCESS: 2 });
    assert.ok(channels.has('pfx:celeryev') && channels.has('pfx:celery.pidbox'), [...channels].join(' '));
    const keys = await (await connected(t, broker)).keys('pfx:_kombu.binding.*');
    assert.ok(keys.length > 0);
  });
}

test('a worker finds its broker through sentinels', async (t) => {
  const group = await startSentinels({ password: 'secret', sentinelPassword: 'hunter2' });
  t.after(() => group.stop());
  const backend = await started(t);
  const [flavour] = celeryFlavours();
  const worker = await startWorker({
    ...{ flavour, nodename: 'w@shop', pool: 'solo', broker: group.url, backend: backend.url },
    transportOptions: { master_name: MASTER_NAME, sentinel_kwargs: { password: 'hunter2' } },
  });
  t.after(() => worker.kill());
  await worker.stop();
  assert.match(worker.log(), /ready\./);
});
