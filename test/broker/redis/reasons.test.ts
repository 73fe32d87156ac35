/** What is said when a Redis or its sentinels do not let us in: whether to give up, and the words that help. */
import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import type { RedisTransportSettings } from '../../../src/broker/redis/transport.ts';
import { type Redis, startRedis } from '../../real/redis.ts';
import { MASTER_NAME, type Sentinels, startSentinels } from '../../real/sentinels.ts';
import { addressOf, observeSession } from '../observed-session.ts';
import { redisTransport } from './redis-transport.ts';

const PASSWORD = 'hunter2';

let redis: Redis;
let sentinels: Sentinels;
before(async () => {
  [redis, sentinels] = await Promise.all([
    startRedis(),
    startSentinels({ password: 'data', sentinelPassword: PASSWORD }),
  ]);
});
after(() => Promise.all([redis.stop(), sentinels.stop()]));

async function endOf(t: TestContext, url: string, settings: Partial<RedisTransportSettings> = {}) {
  const { ended, log } = observeSession(t, redisTransport(settings), { url: addressOf(url) });
  const end = await Promise.race([ended, log.reaches(1)]);
  assert.ok('kind' in end, 'it never was ready');
  assert.ok('reason' in end);
  return end;
}

function behind(masterName: string, password?: string): Partial<RedisTransportSettings> {
  return { masterName, sentinel: { username: undefined, password, tls: undefined } };
}

test('behind sentinels the password of the data node is that of the address', async (t) => {
  const settings = behind(MASTER_NAME, PASSWORD);
  const { ready } = observeSession(t, redisTransport(settings), { url: addressOf(sentinels.url) });
  await ready();
  const wrong = await endOf(t, sentinels.url.replaceAll(':data@', ':swordfish@'), settings);
  assert.equal(wrong.kind, 'refused');
  assert.match(wrong.reason, /WRONGPASS/);
  const missing = await endOf(t, sentinels.url.replaceAll(':data@', ''), settings);
  assert.equal(missing.kind, 'refused');
  assert.match(missing.reason, /NOAUTH/);
});

test('one sentinel that answers is enough', async (t) => {
  const [first, ...others] = sentinels.url.split(';');
  const dead = others.map((url) => url.replace(/:\d+\/0$/u, ':1/0'));
  const url = addressOf([...dead, first].join(';'));
  const transport = redisTransport(behind(MASTER_NAME, PASSWORD));
  const { signal } = new AbortController();
  assert.equal(await transport.reachable?.(url, signal), true);
  await observeSession(t, transport, { url }).ready();
});

test('a wrong password of the sentinels is refused, and the reason does not contain it', async (t) => {
  for (const password of ['swordfish', undefined]) {
    const { kind, reason } = await endOf(t, sentinels.url, behind(MASTER_NAME, password));
    assert.match(reason, /WRONGPASS|NOAUTH/);
    assert.doesNotMatch(reason, /swordfish/);
    assert.equal(kind, 'refused');
  }
});

test('sentinels that do not know the master are not called unreachable', async (t) => {
  const { reason } = await endOf(t, sentinels.url, behind('nobody', PASSWORD));
  assert.match(reason, /nobody|master/iu);
  assert.doesNotMatch(reason, /unreachable/u);
});

test('sentinels that are not there are unreachable, and the reason says why', async (t) => {
  const url = sentinels.url.replaceAll(/:\d+\/0/gu, ':1/0');
  const { kind, reason } = await endOf(t, url, behind(MASTER_NAME, PASSWORD));
  assert.equal(kind, 'unreachable');
  assert.match(reason, /ECONNREFUSED/);
});

test('a password for a server that has none is refused, and no library prints anything about it', async (t) => {
  const printed = t.mock.method(console, 'warn', () => undefined);
  const { kind, reason } = await endOf(t, redis.url.replace('//', '//:swordfish@'));
  assert.equal(kind, 'refused');
  assert.doesNotMatch(reason, /swordfish/);
  assert.equal(printed.mock.callCount(), 0);
});

test('a server with too many clients is unreachable, in its own words', async (t) => {
  const crowded = await startRedis({ configuration: ['maxclients 1'] });
  t.after(() => crowded.stop());
  await observeSession(t, redisTransport(), { url: addressOf(crowded.url) }).ready();
  const { kind, reason } = await endOf(t, crowded.url);
  assert.equal(kind, 'unreachable');
  assert.match(reason, /max number of clients reached/);
});
