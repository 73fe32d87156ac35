/** Under which channel names the events are found, by the settings of kombu: as kombu itself publishes them, both versions of it. */
import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import type { RawMessage } from '../../../src/broker/broker.ts';
import type { RedisTransportSettings } from '../../../src/broker/redis/transport.ts';
import { type CeleryFlavour, celeryFlavours, runPython, type TransportOptions } from '../../real/celery.ts';
import { type Redis, startRedis } from '../../real/redis.ts';
import { MASTER_NAME, type Sentinels, startSentinels } from '../../real/sentinels.ts';
import type { SentMessage } from '../conformance.ts';
import { addressOf, observeSession } from '../observed-session.ts';
import { envelopeOf, startRedisPublisher } from './redis-publisher.ts';
import { redisTransport } from './redis-transport.ts';

const PASSWORD = 'hunter2';

let redis: Redis;
let sentinels: Sentinels;
before(async () => {
  [redis, sentinels] = await Promise.all([startRedis(), startSentinels({ sentinelPassword: PASSWORD })]);
});
after(() => Promise.all([redis.stop(), sentinels.stop()]));

type Settings = Partial<RedisTransportSettings>;

const BEHIND_SENTINELS: Settings = {
  masterName: MASTER_NAME,
  sentinel: { username: undefined, password: PASSWORD, tls: undefined },
};

interface Layout {
  readonly name: string;
  readonly db: number;
  readonly settings: Settings;
  readonly options: TransportOptions;
}

/** Each channel is in one of them only. */
const LAYOUTS: readonly Layout[] = [
  { name: 'the default', db: 0, settings: {}, options: {} },
  { name: 'another database', db: 3, settings: {}, options: {} },
  {
    name: 'a key prefix',
    db: 3,
    settings: { globalKeyprefix: 'pfx:' },
    options: { global_keyprefix: 'pfx:' },
  },
  {
    name: 'neither prefix nor patterns',
    db: 3,
    settings: { fanoutPrefix: '', fanoutPatterns: false },
    options: { fanout_prefix: false, fanout_patterns: false },
  },
  {
    name: 'no patterns',
    db: 4,
    settings: { fanoutPatterns: false },
    options: { fanout_patterns: false },
  },
  {
    name: 'no prefix',
    db: 5,
    settings: { fanoutPrefix: '' },
    options: { fanout_prefix: false },
  },
  {
    name: 'a prefix of its own',
    db: 6,
    settings: { fanoutPrefix: 'shop.{db}-', globalKeyprefix: 'a/' },
    options: { fanout_prefix: 'shop.{db}-', global_keyprefix: 'a/' },
  },
];

function eventOf(text: string): SentMessage {
  return {
    routingKey: 'task.multi',
    contentType: 'application/json',
    contentEncoding: 'utf-8',
    headers: { hostname: 'w1@shop' },
    body: Buffer.from(text),
  };
}

function databaseUrl(db: number): string {
  return redis.url.replace(/0$/u, String(db));
}

function session(t: TestContext, url: string, settings: Settings) {
  return observeSession(t, redisTransport(settings), { url: addressOf(url) });
}

for (const flavour of celeryFlavours()) {
  test(`Celery ${flavour.version} publishes its events where they are expected, in each layout`, async (t) => {
    const sessions = LAYOUTS.map(({ db, settings }) => session(t, databaseUrl(db), settings));
    await Promise.all(sessions.map(({ ready }) => ready()));
    const rows = LAYOUTS.map(({ db, options }) => [databaseUrl(db), options] as const);
    const types = await sendEvents(flavour, rows);
    for (const [number, { delivered }] of sessions.entries()) {
      const messages = await delivered(1);
      assert.deepEqual(
        messages.map(({ routingKey }) => routingKey),
        [`task.custom${number}`],
        LAYOUTS[number]?.name,
      );
      assertByCelery(messages[0], types[number], number);
    }
  });

  test(`behind sentinels each event of Celery ${flavour.version} is received once`, async (t) => {
    const { ready, delivered } = session(t, sentinels.url, BEHIND_SENTINELS);
    await ready();
    const options = { master_name: MASTER_NAME, sentinel_kwargs: { password: PASSWORD } };
    const modes = [options, { ...options, sentinel_fanout_compat: true }, options];
    const types = await sendEvents(
      flavour,
      modes.map((mode) => [sentinels.url, mode] as const),
    );
    const messages = await delivered(types.length);
    for (const [number, message] of messages.entries()) assertByCelery(message, types[number], number);
  });
}

test('behind sentinels an event on both channels is delivered once, as kombu 5.7 may publish it', async (t) => {
  const { ready, delivered } = session(t, sentinels.url, BEHIND_SENTINELS);
  await ready();
  const publisher = await startRedisPublisher(t, (await sentinels.master()).url);
  for (const text of ['first', 'second']) {
    const envelope = envelopeOf('celeryev', eventOf(text));
    for (const prefix of ['/0.', '/{db}.']) {
      assert.equal(await publisher.publishRaw(`${prefix}celeryev/task.multi`, envelope), 1);
    }
  }
  await publisher.publish('celeryev', [eventOf('last')]);
  const bodies = (await delivered(3)).map(({ body }) => String(body));
  assert.deepEqual(bodies, ['first', 'second', 'last']);
});

/** @returns the types of the events, in order */
async function sendEvents(
  flavour: CeleryFlavour,
  rows: readonly (readonly [broker: string, TransportOptions])[],
): Promise<readonly unknown[]> {
  const cluster = { broker: redis.url, backend: redis.url };
  const folder = import.meta.dirname;
  const types = await runPython(flavour, 'send_events.py', [JSON.stringify(rows)], cluster, { folder });
  assert.ok(Array.isArray(types));
  return types;
}

function assertByCelery(message: RawMessage | undefined, type: unknown, number: number): void {
  assert.ok(message?.body !== undefined);
  const { routingKey, contentType, contentEncoding, headers } = message;
  assert.deepEqual(
    { routingKey, contentType, contentEncoding, headers: { ...headers } },
    {
      routingKey: `task.custom${number}`,
      contentType: 'application/json',
      contentEncoding: 'utf-8',
      headers: { hostname: 'w1@shop' },
    },
  );
  const event = JSON.parse(String(message.body));
  assert.equal(event.type, type);
  assert.equal(event.uuid, 'ü');
  assert.equal(event.number, number);
}
