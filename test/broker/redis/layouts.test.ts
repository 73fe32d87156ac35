/** Under which channel names the events are found, by the settings of kombu: as kombu itself publishes them, both versions of it. */
import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import type { RawMessage } from '../../../src/broker/broker.ts';
import type { RedisTransportSettings } from '../../../src/broker/redis/transport.ts';
import { type CeleryFlavour, celeryFlavours, runPython, type TransportOptions } from '../../real/celery.ts';
import { type Redis, startRedis } from '../../real/redis.ts';
import { MASTER_NAME, type Sentinels, startSentinels } from '../../real/sentinels.ts';
import { HEARTBEAT } from '../conformance.ts';
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

/** Each channel is in one of them only. */
const LAYOUTS: readonly (readonly [name: string, db: number, Settings])[] = [
  ['the default', 0, {}],
  ['another database', 3, {}],
  ['a key prefix', 3, { globalKeyprefix: 'pfx:' }],
  ['neither prefix nor patterns', 3, { fanoutPrefix: '', fanoutPatterns: false }],
  ['no patterns', 4, { fanoutPatterns: false }],
  ['no prefix', 5, { fanoutPrefix: '' }],
  ['a prefix of its own', 6, { fanoutPrefix: 'shop.{db}-', globalKeyprefix: 'a/' }],
];

/** As the workers are configured. */
function optionsOf({ globalKeyprefix, fanoutPrefix, fanoutPatterns }: Settings): TransportOptions {
  return {
    ...(globalKeyprefix !== undefined && { global_keyprefix: globalKeyprefix }),
    ...(fanoutPrefix !== undefined && { fanout_prefix: fanoutPrefix === '' ? false : fanoutPrefix }),
    ...(fanoutPatterns !== undefined && { fanout_patterns: fanoutPatterns }),
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
    const sessions = LAYOUTS.map(([, db, settings]) => session(t, databaseUrl(db), settings));
    await Promise.all(sessions.map(({ ready }) => ready()));
    const rows = LAYOUTS.map(([, db, settings]) => [databaseUrl(db), optionsOf(settings)] as const);
    const types = await sendEvents(flavour, rows);
    for (const [number, { delivered }] of sessions.entries()) {
      const [message, ...others] = await delivered(1);
      assert.deepEqual(others, [], LAYOUTS[number]?.[0]);
      assertByCelery(message, types[number], number);
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
    const envelope = envelopeOf('celeryev', { ...HEARTBEAT, body: Buffer.from(text) });
    for (const prefix of ['/0.', '/{db}.']) {
      assert.equal(await publisher.publishRaw(`${prefix}celeryev/task.multi`, envelope), 1);
    }
  }
  await publisher.publish('celeryev', [{ ...HEARTBEAT, body: Buffer.from('last') }]);
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
  const texts = [routingKey, contentType, contentEncoding, headers?.['hostname']];
  assert.deepEqual(texts, [`task.custom${number}`, 'application/json', 'utf-8', 'w1@shop']);
  const event = JSON.parse(String(message.body));
  assert.deepEqual([event.type, event.uuid, event.number], [type, 'ü', number]);
}
