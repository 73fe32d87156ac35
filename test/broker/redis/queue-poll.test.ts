/** What a real Redis says of the queues of real Celery, over which connection, with which rights and by which commands. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, type TestContext, test } from 'node:test';
import { Redis as Client } from 'ioredis';
import type { RedisKeys } from '../../../src/broker/broker-reading.ts';
import type { RedisUrl } from '../../../src/broker/broker-url.ts';
import type { Fate } from '../../../src/broker/control/control.ts';
import { QueuePoll } from '../../../src/broker/redis/queue-poll.ts';
import type { RedisSettings } from '../../../src/broker/redis/settings.ts';
import { celeryFlavours, runPython, type TransportOptions } from '../../real/celery.ts';
import { type Redis, startRedis } from '../../real/redis.ts';
import { until } from '../../until.ts';
import { SETTINGS } from '../broker-settings.ts';
import { addressOf, observeSession } from '../observed-session.ts';
import { POLL_KEYS, QUESTION } from '../poll-keys.ts';
import { redisTransport } from './redis-transport.ts';

/** Without the search for bindings, and without reading whole messages. */
const RIGHTS = '+ping +llen +hlen +zrange +smembers +select +client|setname';
const KEYS_OF_CELERY = '~orders* ~unacked* ~_kombu.binding.*';

let redis: Redis;
before(async () => {
  redis = await startRedis({
    users: [
      `limited on >secret resetchannels ${KEYS_OF_CELERY} -@all ${RIGHTS}`,
      `searching on >secret resetchannels ${KEYS_OF_CELERY} -@all ${RIGHTS} +scan`,
      'deaf on >secret resetkeys resetchannels &/0.celeryev/* -@all +psubscribe +ping',
    ],
  });
});
after(() => redis?.stop());

const signal = new AbortController().signal;
const SHARED = { ...SETTINGS.redis, eventExchange: 'celeryev' };
const TWENTY = [0, 3, 6, 9].flatMap((priority) => Array<number>(5).fill(priority));

interface Layout {
  readonly db: number;
  readonly options: TransportOptions;
  readonly settings?: Partial<RedisSettings>;
  readonly keys?: Partial<RedisKeys>;
}

const SPECIAL = 'p*[x]?:';
const TEN_STEPS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
const LAYOUTS: Readonly<Record<string, Layout>> = {
  'the default': { db: 0, options: {} },
  'a prefix with special characters': {
    ...{ db: 3, options: { global_keyprefix: SPECIAL }, settings: { globalKeyprefix: SPECIAL } },
  },
  'a separator of its own': { db: 4, options: { sep: ':' }, keys: { separator: ':' } },
  'ten priority steps': { db: 5, options: { priority_steps: TEN_STEPS }, keys: { prioritySteps: TEN_STEPS } },
};

function redisAddress(db: number, user = ''): RedisUrl {
  const url = addressOf(redis.url.replace('//', `//${user}`).replace(/0$/u, String(db)));
  if (!('db' in url)) throw new Error('no address of Redis');
  return url;
}

function clientOf(t: TestContext): Client {
  const client = new Client(redis.url, { protocol: 2, retryStrategy: null }).on('error', () => undefined);
  t.after(() => client.disconnect());
  return client;
}

/** A client of the server, which is emptied. */
async function emptied(t: TestContext): Promise<Client> {
  const client = clientOf(t);
  await client.flushall();
  return client;
}

interface Polled extends Layout {
  readonly unackedByQueue: boolean;
  readonly fates: Readonly<Record<string, Fate>>;
}

function pollOf(
  t: TestContext,
  { db = 0, settings = {}, keys = {}, unackedByQueue = false, fates = {} }: Partial<Polled>,
  user?: string,
) {
  const poll = new QueuePoll(redisAddress(db, user), { ...SHARED, ...settings }, 2000);
  t.after(() => poll.end());
  return {
    poll,
    read: (...queues: readonly string[]) =>
      poll.read(
        {
          ...{ queues, unackedByQueue, namespace: 'celery', redis: { ...POLL_KEYS, ...keys } },
          fates: async () => (nodename) => fates[nodename] ?? 'unknown',
        },
        signal,
      ),
  };
}

for (const flavour of celeryFlavours()) {
  test(`twenty messages of Celery ${flavour.version} over four priorities are twenty, in each layout, and their queue is found by its bindings`, async (t) => {
    const rows = Object.values(LAYOUTS).map(({ db, options }) => [redisAddress(db).label, options, TWENTY]);
    await clientOf(t).flushall();
    const cluster = { broker: redis.url, backend: redis.url };
    const folder = import.meta.dirname;
    await runPython(flavour, 'send_messages.py', [JSON.stringify(rows)], cluster, { folder });
    for (const [name, layout] of Object.entries(LAYOUTS)) {
      const { read } = pollOf(t, layout);
      const { queues, unacked, incomplete } = await read('orders', 'nothing');
      const [orders, nothing] = queues;
      assert.deepEqual([orders?.queue, orders?.length, incomplete], ['orders', 20, []], name);
      const filled = orders?.byPriority?.filter(([, length]) => length > 0);
      assert.equal(filled?.join(' '), '0,5 3,5 6,5 9,5', name);
      // In Redis, an empty queue is no key.
      assert.deepEqual([nothing?.queue, nothing?.length], ['nothing', 0], name);
      assert.equal(unacked?.count, 0);
      // The first poll searches for exchanges, and the second reads their bindings.
      await read('other');
      const found = (await read('other')).queues.map(({ queue }) => queue);
      assert.deepEqual(found, ['other', 'orders'], name);
    }
  });
}

test('without the right to search, queues of known exchanges are found', async (t) => {
  const client = await emptied(t);
  const { separator } = POLL_KEYS;
  await client.sadd('_kombu.binding.orders', `a${separator}${separator}orders.mail`);
  await client.sadd('_kombu.binding.orders.other', `a${separator}${separator}orders.video`);
  await client.rpush('orders.mail', 'x');
  for (const [user, expected] of [
    ['limited:secret@', ['orders', 'orders.mail']],
    ['searching:secret@', ['orders', 'orders.mail', 'orders.video']],
  ] as const) {
    const { read } = pollOf(t, {}, user);
    for (let poll = 0; poll < 3; poll += 1) await read('orders');
    const { queues, unacked, incomplete } = await read('orders');
    assert.deepEqual(queues.map(({ queue }) => queue).sort(), [...expected].sort(), user);
    assert.deepEqual([unacked?.count, incomplete], [0, []], user);
  }
});

test('the user that is documented may subscribe, poll, search and read whole messages, and nothing else', async (t) => {
  const document = readFileSync(`${import.meta.dirname}/../../../docs/brokers.md`, 'utf8');
  const [, command = ''] = /^redis-cli ACL (SETUSER celery-otel .*)$/mu.exec(document) ?? [];
  const admin = clientOf(t);
  await admin.flushall();
  await admin.call('ACL', ...command.replaceAll("'", '').split(' '));
  const session = observeSession(t, redisTransport(), { url: redisAddress(0, 'celery-otel:SECRET@') });
  await session.ready();
  const { read } = pollOf(t, { unackedByQueue: true }, 'celery-otel:SECRET@');
  for (let poll = 0; poll < 3; poll += 1) {
    const { queues, unacked, incomplete } = await read('celery', 'celery.mail');
    assert.deepEqual([queues.length, unacked?.byQueue?.length, incomplete], [2, 2, []]);
  }
  for (const refused of [
    ['LPUSH', 'celery', 'x'],
    ['PUBLISH', 'a', 'x'],
    ['LPOP', 'celery'],
    ['KEYS', '*'],
  ] as const) {
    const reply = await admin.call('ACL', 'DRYRUN', 'celery-otel', ...refused);
    assert.match(String(reply), /no permissions/u, refused[0]);
  }
});

test('what is refused is told, and the rest is read', async (t) => {
  const { queues, incomplete } = await pollOf(t, {}, 'limited:secret@').read('orders', 'private');
  assert.deepEqual(
    queues.map(({ queue }) => queue),
    ['orders'],
  );
  assert.match(incomplete.join(), /^NOPERM .*docs\/brokers\.md/u);
  const deaf = await pollOf(t, {}, 'deaf:secret@').read('orders');
  assert.deepEqual([deaf.queues, deaf.unacked], [[], undefined]);
  assert.match(deaf.incomplete.join(), /^NOPERM/u);
});

/** A message as kombu keeps it. */
const held = (body: string, exchange: string | null, routingKey: string) =>
  JSON.stringify([{ body, headers: { 'x"]': ', "a", "b"]' } }, exchange, routingKey]);

test('unacknowledged messages are counted by queue, by their routes, up to a limit', async (t) => {
  const client = await emptied(t);
  const { separator } = POLL_KEYS;
  await client.sadd('_kombu.binding.shop', `pay.now${separator}${separator}orders`);
  const messages = [
    held('1', '', 'mails'),
    held('2', null, 'mails'),
    held('3', 'shop', 'pay.now'),
    held('x'.repeat(100_000), 'shop', 'pay.now'),
    held('5', '', 'elsewhere'),
    held('6', '', 'ä"\\'),
    'not JSON',
  ];
  for (const [tag, message] of messages.entries()) await client.hset('unacked', `tag-${tag}`, message);
  const { read } = pollOf(t, { unackedByQueue: true });
  await read();
  await read();
  const { unacked } = await read('orders', 'mails', 'idle', 'ä"\\');
  const byQueue = unacked?.byQueue?.map(String).toSorted().join(' ');
  assert.deepEqual([unacked?.count, byQueue], [7, 'idle,0 mails,2 orders,2 unknown,2 ä"\\,1']);
  assert.equal((await pollOf(t, {}).read('orders')).unacked?.byQueue, undefined, 'only if asked for');
  const refused = await pollOf(t, { unackedByQueue: true }, 'limited:secret@').read('orders');
  assert.match(refused.incomplete.join(), /NOPERM.*hscan/u);
  assert.equal(refused.unacked?.byQueue, undefined);
  assert.equal(refused.unacked?.count, 7);

  const many = Array.from({ length: 10_001 }, (_, tag) => [`many-${tag}`, held('7', '', 'mails')]);
  await client.hset('unacked', ...many.flat());
  const beyond = await read('mails');
  assert.deepEqual([beyond.unacked?.count, beyond.unacked?.byQueue], [10_008, undefined]);
  assert.match(beyond.incomplete.join(), /too many unacknowledged messages/u);
});

test('messages of topic exchanges belong to the queue that they match, unless it may be another one', async (t) => {
  const client = await emptied(t);
  const sep = POLL_KEYS.separator;
  const bind = (routingKey: string, queue: string) => `${routingKey}${sep}^pattern$${sep}${queue}`;
  await client.sadd('_kombu.binding.media', bind('feed.#', 'feeds'), bind('*.photo', 'photos'));
  await client.sadd('_kombu.binding.shop', `mails${sep}${sep}orders`);
  const routes = [
    ['media', 'feed'],
    ['media', 'feed.import.now'],
    ['media', 'old.photo'],
    ['media', 'feed.photo'],
    ['media', 'old.big.photo'],
    ['shop', 'mails'],
    ['unseen', 'mails'],
  ] as const;
  for (const [tag, route] of routes.entries())
    await client.hset('unacked', `tag-${tag}`, held('', route[0], route[1]));
  const { read } = pollOf(t, { unackedByQueue: true });
  const names = ['feeds', 'photos', 'orders', 'mails'];
  const first = await read(...names);
  // Their bindings are not known yet.
  assert.deepEqual(
    first.unacked?.byQueue?.filter(([, count]) => count > 0),
    [['unknown', 7]],
  );
  await read(...names);
  const { unacked } = await read(...names);
  assert.equal(unacked?.byQueue?.join(' '), 'feeds,2 photos,1 orders,1 mails,0 unknown,3');
});

test('of giant messages a poll reads little more than 64 MiB', async (t) => {
  const client = await emptied(t);
  const message = held('x'.repeat(8_000_000), '', 'celery');
  for (let tag = 0; tag < 30; tag += 1) await client.hset('unacked', `t${tag}`, message);
  const sent = async () => Number(/total_net_output_bytes:(\d+)/u.exec(await client.info('stats'))?.[1]);
  const before = await sent();
  const { incomplete } = await pollOf(t, { unackedByQueue: true }).read('celery');
  const mib = ((await sent()) - before) / 2 ** 20;
  await client.flushall();
  assert.ok(mib < 100, `${mib} MiB`);
  assert.match(incomplete.join(), /too many unacknowledged/u);
});

test('names and sets of bindings are bounded, and what is not read is told; all queues of 250 exchanges are polled', async (t) => {
  const client = await emptied(t);
  const sep = POLL_KEYS.separator;
  for (let index = 0; index < 250; index += 1)
    await client.sadd(`_kombu.binding.q${index}`, `q${index}${sep}${sep}q${index}`);
  const { read } = pollOf(t, {});
  for (let poll = 0; poll < 3; poll += 1) await read('celery');
  assert.equal((await read('celery')).queues.length, 251);
  const many = Array.from({ length: 10_000 }, (_, index) => `k${sep}${sep}queue-${index}`);
  await client.sadd('_kombu.binding.celery', `k${sep}${sep}${'x'.repeat(100_000)}`, ...many);
  await read('celery');
  const { queues, incomplete } = await read('celery');
  assert.ok(queues.length <= 1000 && queues.every(({ queue }) => queue.length <= 255));
  assert.match(incomplete.join(), /more bindings than are read/u);
});

test('a server that was busy once is searched for bindings all the same', async (t) => {
  const client = await emptied(t);
  const { read } = pollOf(t, {});
  await read('celery');
  await client.config('SET', 'busy-reply-threshold', '1');
  const script = clientOf(t)
    .eval('while true do end', 0)
    .catch(() => undefined);
  const isBusy = () =>
    client.ping().then(
      () => false,
      () => true,
    );
  await until('the server is busy', isBusy);
  const busy = await read('celery');
  await client.call('SCRIPT', 'KILL');
  await script;
  await client.config('SET', 'busy-reply-threshold', '5000');
  assert.match(busy.incomplete.join(), /^BUSY/u);
  await client.sadd('_kombu.binding.later', ['later', '', 'later'].join(POLL_KEYS.separator));
  for (let poll = 0; poll < 3; poll += 1) await read('celery');
  assert.equal((await read('celery')).queues.at(-1)?.queue, 'later');
});

test('the queues of event receivers are not polled, whatever the event exchange', async (t) => {
  const client = await emptied(t);
  await client.sadd('_kombu.binding.shopev', ['worker.#', '^worker.*', 'shopev.1'].join(POLL_KEYS.separator));
  const poll = new QueuePoll(redisAddress(0), { ...SHARED, eventExchange: 'shopev' }, 2000);
  t.after(() => poll.end());
  for (let round = 0; round < 3; round += 1) {
    const { queues } = await poll.read({ queues: ['shopev', 'celery'], ...QUESTION }, signal);
    assert.deepEqual(
      queues.map(({ queue }) => queue),
      ['shopev', 'celery'],
    );
  }
});

test('over its whole life a poll sends nothing but reading commands', async (t) => {
  const other = clientOf(t);
  await other.ping();
  const monitor = await other.monitor();
  t.after(() => monitor.disconnect());
  const sent: string[] = [];
  monitor.on('monitor', (_, [command = '']: string[]) => sent.push(command.toUpperCase()));
  const { read } = pollOf(t, { db: 3, unackedByQueue: true });
  for (let poll = 0; poll < 3; poll += 1) await read('orders', 'a'.repeat(300), 'ü\n"');
  // The last of all, so that those before it are there.
  await other.echo('end');
  await until('all was seen', () => sent.includes('ECHO'));
  const allowed = ['SELECT', 'CLIENT', 'LLEN', 'HLEN', 'ZRANGE', 'SSCAN', 'SCAN', 'HSCAN'];
  assert.deepEqual(new Set(sent.slice(0, sent.indexOf('ECHO'))), new Set(allowed));
});

test('a server that goes away fails the poll, and is asked again when it is back', async (t) => {
  const own = await startRedis();
  t.after(() => own.stop());
  const url = addressOf(own.url);
  assert.ok('db' in url);
  const poll = new QueuePoll(url, SHARED, 1000);
  t.after(() => poll.end());
  const read = (ending = signal) => poll.read({ queues: ['orders'], ...QUESTION }, ending);
  assert.equal((await read()).queues.length, 1);
  await own.kill();
  await assert.rejects(read());
  await assert.rejects(read());
  await own.start();
  assert.equal((await read()).queues.length, 1);
  own.pause();
  await assert.rejects(read(AbortSignal.timeout(500)));
  own.resume();
  assert.equal((await read()).queues.length, 1);
  await assert.rejects(read(AbortSignal.abort()), /abort/iu);
});

const OWN = POLL_KEYS.separator;
for (const [what, members, fates, lengths, left] of [
  ['are those of the workers without a configured one', ['::w1@pod.celery.pidbox'], {}, [3], []],
  [
    'and none are told while workers use different ones',
    ['::w1@pod.celery.pidbox', '##w2@pod.celery.pidbox'],
    { 'w1@pod': 'up' },
    [],
    [],
  ],
  [
    'and a name that was left behind is not counted',
    ['::w1@pod.celery.pidbox', `${OWN}${OWN}w2@pod.celery.pidbox`],
    { 'w1@pod': 'up', 'w2@pod': 'gone' },
    [3],
    ['SREM _kombu.binding.celery.pidbox "\\x06\\x16\\x06\\x16w2@pod.celery.pidbox"'],
  ],
  [
    'of those that live, after thousands of names that were left behind',
    [
      ...Array.from({ length: 3000 }, (_, index) => `##w${index}@pod.celery.pidbox`),
      '::alive@pod.celery.pidbox',
    ],
    {
      'alive@pod': 'up',
      ...Object.fromEntries(Array.from({ length: 3000 }, (_, index) => [`w${index}@pod`, 'gone' as const])),
    },
    [3],
    undefined,
  ],
] as const) {
  test(`lists by priority: separators ${what}`, async (t) => {
    const client = clientOf(t);
    await client.select(9);
    await client.flushdb();
    await client.sadd('_kombu.binding.celery.pidbox', ...members);
    await client.lpush('orders', 'a');
    await client.lpush('orders:3', 'a', 'b');
    const { read } = pollOf(t, { db: 9, keys: { separator: undefined }, fates });
    const reading = await read('orders');
    assert.deepEqual(
      reading.queues.filter(({ queue }) => queue === 'orders').map(({ length }) => length),
      lengths,
    );
    assert.equal(reading.incomplete.length, 1 - lengths.length, reading.incomplete.join());
    assert.match(
      `${reading.incomplete.join()};`,
      lengths.length > 0
        ? /^;/u
        : /use the separator "#" and ":".*SREM _kombu.binding.celery.pidbox "##w2@pod/u,
    );
    const { leftovers = [] } = reading;
    if (left === undefined) assert.equal(leftovers.length, 3000);
    else
      assert.deepEqual(
        leftovers.map(({ removal }) => removal),
        left,
      );
  });
}
