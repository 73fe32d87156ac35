/** What arrives of messages that nobody should publish: malformed envelopes, deep headers and bodies that are too large. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Redis, startRedis } from '../../real/redis.ts';
import { until } from '../../until.ts';
import type { SentMessage } from '../conformance.ts';
import { addressOf, messagesOf, observeSession } from '../observed-session.ts';
import { envelopeOf, startRedisPublisher } from './redis-publisher.ts';
import { redisTransport } from './redis-transport.ts';

const CHANNEL = '/0.celeryev/task.multi';
const BODY_BYTES_MAX = 30_000;

let redis: Redis;
before(async () => {
  redis = await startRedis();
});
after(() => redis.stop());

const EVENT: SentMessage = {
  routingKey: 'task.multi',
  contentType: 'application/json',
  contentEncoding: 'utf-8',
  headers: { hostname: 'w1@shop' },
  body: Buffer.from('[{"type":"task-started"}]'),
};

function nested(depth: number): string {
  return `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
}

/** An envelope with these fields instead. */
function altered(fields: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ ...JSON.parse(envelopeOf('celeryev', EVENT)), ...fields });
}

const withHeaders = (json: string): string => altered({ headers: 'HERE' }).replace('"HERE"', json);

const MALFORMED: Readonly<Record<string, Buffer | string>> = {
  nothing: '',
  'no JSON': 'hello',
  'half an envelope': envelopeOf('celeryev', EVENT).slice(0, -20),
  'two envelopes': envelopeOf('celeryev', EVENT).repeat(2),
  null: 'null',
  'a list': '[]',
  'a text': '"body"',
  'an empty object': '{}',
  'no UTF-8': Buffer.concat([
    Buffer.from('{"body":"'),
    Buffer.from([0xff, 0xfe]),
    Buffer.from('","headers":{}}'),
  ]),
  'binary data': Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)),
  'no headers': altered({ headers: undefined }),
  'headers that are null': altered({ headers: null }),
  'headers that are a list': altered({ headers: [] }),
  'no body': altered({ body: undefined }),
  'a body that is a number': altered({ body: 7 }),
  'a body that is an object': altered({ body: {} }),
  'headers nested too deep': withHeaders(nested(100)),
  'headers nested very deep': withHeaders(nested(20_000)),
  'too many headers': withHeaders(
    JSON.stringify(
      Object.fromEntries(
        Array(2000)
          .fill(0)
          .map((_, at) => [at, 0]),
      ),
    ),
  ),
  'lists nested very deep': `${'['.repeat(60_000)}`,
  'a very long name': `{"${'n'.repeat(40_000)}":1}`,
};

/** Delivered with what can be known. */
const ODD: Readonly<Record<string, string>> = {
  'no properties': altered({ properties: undefined }),
  'properties that are a list': altered({ properties: [] }),
  'no body encoding, as with that option of kombu': altered({ body: '[]', properties: {} }),
  'a prototype among the headers': withHeaders('{"__proto__":{"hostname":"evil"},"constructor":1}'),
  'other types everywhere': altered({
    'content-type': 1,
    'content-encoding': [],
    properties: { delivery_info: { exchange: 1, routing_key: {} }, delivery_tag: 5, body_encoding: 0 },
  }),
};

test('each malformed envelope is delivered without headers, and none ends the session', async (t) => {
  const session = observeSession(t, redisTransport(), {
    url: addressOf(redis.url),
    bodyBytesMax: BODY_BYTES_MAX,
  });
  await session.ready();
  const publisher = await startRedisPublisher(t, redis.url);
  const names = Object.keys(MALFORMED);
  for (const envelope of Object.values(MALFORMED)) await publisher.publishRaw(CHANNEL, envelope);
  await publisher.publish('celeryev', [EVENT]);
  const messages = await session.delivered(names.length + 1);
  const unexpected = names.filter((_, at) => messages[at]?.headers !== undefined);
  assert.deepEqual(unexpected, []);
  const last = messages.at(-1);
  assert.deepEqual(last?.headers, EVENT.headers);
  assert.deepEqual(last?.body, EVENT.body);
});

test('an envelope with odd parts is delivered with headers and texts only', async (t) => {
  const session = observeSession(t, redisTransport(), { url: addressOf(redis.url) });
  await session.ready();
  const publisher = await startRedisPublisher(t, redis.url);
  const envelopes = Object.entries(ODD);
  for (const [, envelope] of envelopes) await publisher.publishRaw(CHANNEL, envelope);
  const messages = await session.delivered(envelopes.length);
  for (const [at, [name]] of envelopes.entries()) {
    const message = messages[at];
    assert.ok(message?.headers !== undefined && message.body !== undefined, name);
    const { exchange, routingKey, contentType, contentEncoding } = message;
    for (const text of [exchange, routingKey, contentType, contentEncoding]) {
      assert.equal(typeof text, 'string', name);
    }
  }
  assert.equal(Reflect.get({}, 'hostname'), undefined);
});

test('a body up to the limit is delivered, and a larger one has none', async (t) => {
  let shed = 0;
  const session = observeSession(t, redisTransport(), {
    url: addressOf(redis.url),
    bodyBytesMax: BODY_BYTES_MAX,
    onShed: (count) => {
      shed += count;
    },
  });
  await session.ready();
  const publisher = await startRedisPublisher(t, redis.url);
  /** Publishes it until it is delivered: the largest is shed if the session asks the server for a reply in the midst of it. */
  const deliver = async (size: number) => {
    for (;;) {
      const [known, shedBefore] = [messagesOf(session.log).length, shed];
      await publisher.publish('celeryev', [{ ...EVENT, body: Buffer.alloc(size, ' ') }]);
      const reported = await until(`a body of ${size} bytes`, () =>
        messagesOf(session.log).length > known ? 'delivered' : shed > shedBefore && 'shed',
      );
      if (reported === 'delivered') return messagesOf(session.log).at(-1)?.body?.length;
    }
  };
  const lengths: unknown[] = [];
  for (const size of [BODY_BYTES_MAX, BODY_BYTES_MAX + 1, 2 * BODY_BYTES_MAX, 20_000_000, 10])
    lengths.push(await deliver(size));
  assert.deepEqual(lengths, [BODY_BYTES_MAX, undefined, undefined, undefined, 10]);
});
