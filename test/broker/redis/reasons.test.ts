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

const RIGHT = behind(MASTER_NAME, PASSWORD);
const WRONG = ':swordfish@';
/** What is wrong, as an address and settings, and the end that is expected; any kind but `unreachable` without one. */
const ENDS: readonly (readonly [
  what: string,
  url: () => string,
  settings: Partial<RedisTransportSettings>,
  kind: 'refused' | 'unreachable' | undefined,
  reason: RegExp,
])[] = [
  [
    'a wrong password of the data node behind sentinels',
    () => sentinels.url.replaceAll(':data@', WRONG),
    ...([RIGHT, 'refused', /WRONGPASS/u] as const),
  ],
  [
    'no password of the data node behind sentinels',
    () => sentinels.url.replaceAll(':data@', ''),
    ...([RIGHT, 'refused', /NOAUTH/u] as const),
  ],
  [
    'a wrong password of the sentinels',
    () => sentinels.url,
    behind(MASTER_NAME, 'swordfish'),
    'refused',
    /WRONGPASS/u,
  ],
  ['no password of the sentinels', () => sentinels.url, behind(MASTER_NAME), 'refused', /NOAUTH|WRONGPASS/u],
  [
    'a master that the sentinels do not know',
    () => sentinels.url,
    behind('nobody', PASSWORD),
    undefined,
    /nobody/u,
  ],
  [
    'sentinels that are not there',
    () => sentinels.url.replaceAll(/:\d+\/0/gu, ':1/0'),
    ...([RIGHT, 'unreachable', /ECONNREFUSED/u] as const),
  ],
  ['a password for a server that has none', () => redis.url.replace('//', `//${WRONG}`), {}, 'refused', /./u],
];

for (const [what, url, settings, kind, expected] of ENDS) {
  test(`${what}: the end has its kind, and neither its reason nor a library shows the password`, async (t) => {
    const printed = t.mock.method(console, 'warn', () => undefined);
    const end = await endOf(t, url(), settings);
    if (kind === undefined) assert.notEqual(end.kind, 'unreachable');
    else assert.equal(end.kind, kind);
    assert.match(end.reason, expected);
    assert.doesNotMatch(end.reason, /swordfish/u);
    assert.equal(printed.mock.callCount(), 0);
  });
}

test('one sentinel that answers is enough', async (t) => {
  const [first, ...others] = sentinels.url.split(';');
  const dead = others.map((url) => url.replace(/:\d+\/0$/u, ':1/0'));
  const url = addressOf([...dead, first].join(';'));
  const transport = redisTransport(behind(MASTER_NAME, PASSWORD));
  const { signal } = new AbortController();
  assert.equal(await transport.reachable?.(url, signal), true);
  await observeSession(t, transport, { url }).ready();
});

test('a server with too many clients is unreachable, in its own words', async (t) => {
  const crowded = await startRedis({ configuration: ['maxclients 1'] });
  t.after(() => crowded.stop());
  await observeSession(t, redisTransport(), { url: addressOf(crowded.url) }).ready();
  const { kind, reason } = await endOf(t, crowded.url);
  assert.equal(kind, 'unreachable');
  assert.match(reason, /max number of clients reached/);
});
