/** kombu’s envelope on Redis: what is read of it, what makes it unreadable, and what it may cost. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openEnvelope } from '../../../src/broker/redis/envelope.ts';
import { fc } from '../../seed.ts';

const BODY_BYTES_MAX = 4096;
const BODY = Buffer.from('{"type":"worker-online"}');

/** As kombu 5 writes it. */
const ENVELOPE = {
  body: BODY.toString('base64'),
  'content-encoding': 'utf-8',
  'content-type': 'application/json',
  headers: { hostname: 'w1@vm' },
  properties: {
    delivery_mode: 1,
    delivery_info: { exchange: 'celeryev', routing_key: 'worker.online' },
    priority: 0,
    body_encoding: 'base64',
    delivery_tag: '919c1204',
  },
};

const open = (value: unknown) => openBytes(Buffer.from(JSON.stringify(value)));
const openBytes = (bytes: Buffer) => openEnvelope(bytes, 7, BODY_BYTES_MAX);

test('an envelope has the properties, the headers and the body', () => {
  assert.deepEqual(open(ENVELOPE), {
    message: {
      arrivedAtMs: 7,
      exchange: 'celeryev',
      routingKey: 'worker.online',
      contentType: 'application/json',
      contentEncoding: 'utf-8',
      headers: { hostname: 'w1@vm' },
      body: BODY,
    },
    deliveryTag: '919c1204',
  });
});

test('without base64 the body is the text itself', () => {
  for (const body_encoding of [undefined, null, 'utf-8']) {
    const properties = { ...ENVELOPE.properties, body_encoding };
    assert.deepEqual(open({ ...ENVELOPE, body: '{"ü":1}', properties }).message.body, Buffer.from('{"ü":1}'));
  }
});

const WITHOUT_PROPERTIES = { ...ENVELOPE, properties: undefined, body: '[]' };

test('properties of other types are absent', () => {
  for (const value of [
    WITHOUT_PROPERTIES,
    { ...WITHOUT_PROPERTIES, properties: 7 },
    { ...WITHOUT_PROPERTIES, properties: { delivery_info: [], delivery_tag: {} } },
  ]) {
    const { message, deliveryTag } = open(value);
    assert.deepEqual([message.exchange, message.routingKey, deliveryTag], ['', '', '']);
    assert.deepEqual(message.body, Buffer.from('[]'));
  }
  assert.equal(open({ ...ENVELOPE, 'content-type': 7, 'content-encoding': [] }).message.contentType, '');
});

/** A list in a list in a list … */
const nested = (depth: number): unknown => JSON.parse('['.repeat(depth) + ']'.repeat(depth));
const UNREADABLE: readonly (readonly [string, unknown])[] = [
  ['a number', 7],
  ['null', null],
  ['a list', [ENVELOPE]],
  ['a missing body', { ...ENVELOPE, body: undefined }],
  ['a body that is an object', { ...ENVELOPE, body: {} }],
  ['missing headers', { ...ENVELOPE, headers: undefined }],
  ['headers that are a list', { ...ENVELOPE, headers: [] }],
  ['headers that are null', { ...ENVELOPE, headers: null }],
  ['deep headers', { ...ENVELOPE, headers: { a: nested(64) } }],
  ['many headers', { ...ENVELOPE, headers: { a: Array.from({ length: 1001 }, () => 0) } }],
  ['a large envelope of many values', { ...ENVELOPE, x: Array.from({ length: 9000 }, () => 0) }],
];

for (const [name, value] of UNREADABLE) {
  test(`with ${name}, the headers are undefined`, () => {
    assert.equal(open(value).message.headers, undefined);
  });
}

test('headers within the limits are read', () => {
  for (const a of [nested(63), Array.from({ length: 999 }, () => 0)]) {
    assert.deepEqual(open({ ...ENVELOPE, headers: { a } }).message.headers, { a });
  }
});

test('bytes that are no JSON, or no text, are unreadable', () => {
  const twice = JSON.stringify(ENVELOPE).repeat(2);
  for (const text of ['', '{', '\u0000', '{"body": NaN}', twice, twice.slice(0, 99), '['.repeat(60_000)])
    assert.equal(openBytes(Buffer.from(text)).message.headers, undefined, text.slice(0, 20));
  assert.equal(openBytes(Buffer.from([0x22, 0xff, 0x22])).message.headers, undefined);
});

test('a body beyond the limit is dropped, whether its envelope is parsed or not', () => {
  const sized = (bytes: number) =>
    open({ ...ENVELOPE, body: Buffer.alloc(bytes, 'x').toString('base64') }).message.body;
  assert.equal(sized(BODY_BYTES_MAX)?.length, BODY_BYTES_MAX);
  assert.equal(sized(BODY_BYTES_MAX + 1), undefined);
  assert.equal(sized(100 * BODY_BYTES_MAX), undefined);
});

test('no bytes make it throw', () => {
  fc.assert(fc.property(fc.uint8Array(), (bytes) => void openBytes(Buffer.from(bytes))));
  fc.assert(fc.property(fc.json(), (json) => void openBytes(Buffer.from(json))));
  const anyField = fc.record(
    {
      body: fc.anything(),
      headers: fc.anything(),
      properties: fc.oneof(
        fc.anything(),
        fc.record({ body_encoding: fc.anything(), delivery_info: fc.anything() }),
      ),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(anyField, (value) => {
      const json = JSON.stringify({ ...ENVELOPE, ...value }, (_, one: unknown) =>
        typeof one === 'bigint' ? String(one) : one,
      );
      openBytes(Buffer.from(json));
    }),
  );
});

test('names like those of a prototype are only names', () => {
  const { message } = openBytes(
    Buffer.from('{"body":"","headers":{"__proto__":{"compression":"x"}},"__proto__":{"body":7}}'),
  );
  assert.equal(message.headers?.['compression'], undefined);
  assert.ok(Object.hasOwn(message.headers ?? {}, '__proto__'));
});
