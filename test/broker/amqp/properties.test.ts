/** Headers that amqplib cannot decode, from a broker that sends any bytes: none of them ends the session. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { frameReader } from '../../../src/broker/amqp/frames.ts';
import type { RawMessage } from '../../../src/broker/broker.ts';
import { fc } from '../../seed.ts';
import { addressOf, observeSession } from '../observed-session.ts';
import { amqpTransport } from './amqp-transport.ts';
import {
  bodyFrames,
  content,
  contentHeader,
  field,
  frame,
  long,
  longInteger,
  nestedArrays,
  nestedTables,
  shortText,
  sized,
  tagged,
} from './frames.ts';
import { startScriptedBroker } from './scripted-broker.ts';

const CHANNEL = 1;
const withHeaders = (...fields: readonly Buffer[]) =>
  content(CHANNEL, Buffer.concat(fields), Buffer.from('{}'));
const HONEST = withHeaders(field('hostname', sized('S', Buffer.from('w1@shop'))));

async function subscribed(t: TestContext) {
  const broker = await startScriptedBroker(t);
  const session = observeSession(t, amqpTransport({ heartbeatS: 0 }), { url: addressOf(broker.url) });
  await session.ready();
  let expected = 0;
  return {
    ...session,
    /** Delivers them, each followed by a valid message; resolves with the results. */
    async receive(frames: readonly Buffer[], chunkBytes = 65_536): Promise<readonly RawMessage[]> {
      const from = expected;
      const bytes = Buffer.concat(frames.flatMap((each) => [broker.deliver(each), broker.deliver(HONEST)]));
      for (let at = 0; at < bytes.length; at += chunkBytes) broker.send(bytes.subarray(at, at + chunkBytes));
      expected += 2 * frames.length;
      const all = await session.delivered(expected);
      assert.equal(all.length, expected, `it ended: ${JSON.stringify(await endOf(session.ended))}`);
      const [hostile, honest] = [0, 1].map((rest) =>
        all.slice(from).filter((_, index) => index % 2 === rest),
      );
      for (const { contentType, headers, body } of honest ?? []) {
        assert.deepEqual(
          [contentType, headers, body],
          ['application/json', { hostname: 'w1@shop' }, Buffer.from('{}')],
        );
      }
      return hostile ?? [];
    },
  };
}

function endOf<T>(ended: Promise<T>): Promise<T | 'it has not ended'> {
  return Promise.race([
    ended,
    new Promise<'it has not ended'>((resolve) => setImmediate(resolve, 'it has not ended')),
  ]);
}

function headersOf(messages: readonly RawMessage[]): unknown[] {
  return messages.map(({ headers }) => headers);
}

test('long integers are decoded as py-amqp encodes them, at any position', async (t) => {
  const { receive } = await subscribed(t);
  const long40 = longInteger(2n ** 40n);
  const tables = [
    field('build', long40),
    Buffer.concat([
      field('compression', sized('S', Buffer.from('L'))),
      field('build', longInteger(-(2n ** 33n))),
    ]),
    field('L', sized('A', Buffer.concat([long40, sized('F', field('L', long40)), tagged('V'), long40]))),
    // Longer than what is checked only after amqplib failed.
    Buffer.concat([field('text', sized('S', Buffer.alloc(1000, 'L'))), field('build', long40)]),
  ];
  const messages = await receive(tables.map((table) => withHeaders(table)));
  assert.deepEqual(headersOf(messages), [
    { build: 2 ** 40 },
    { compression: 'L', build: -(2 ** 33) },
    { L: [2 ** 40, { L: 2 ** 40 }, null, 2 ** 40] },
    { text: 'L'.repeat(1000), build: 2 ** 40 },
  ]);
  assert.deepEqual(
    messages.map(({ contentType, contentEncoding }) => [contentType, contentEncoding]),
    Array(4).fill(['application/json', 'utf-8']),
  );
});

test('each message has its own headers, even if many others have the same or different ones', async (t) => {
  const { receive } = await subscribed(t);
  const hostnames = Array.from({ length: 3_000 }, (_, index) => `w${(index * index) % 1_700}@shop`);
  const messages = await receive(
    hostnames.map((hostname) =>
      content(CHANNEL, field('hostname', sized('S', Buffer.from(hostname))), Buffer.from(hostname)),
    ),
  );
  assert.deepEqual(
    headersOf(messages),
    hostnames.map((hostname) => ({ hostname })),
  );
  assert.deepEqual(
    messages.map(({ body }) => body?.toString()),
    hostnames,
  );
});

test('headers are decoded up to 64 levels deep, however many there are', async (t) => {
  const { receive } = await subscribed(t);
  const nestings = [63, 64, 65, 1000, 10_000, 21_000];
  for (const nested of [nestedArrays, nestedTables]) {
    const messages = await receive(nestings.map((depth) => withHeaders(field('k', nested(depth)))));
    assert.deepEqual(
      headersOf(messages).map((headers) => headers !== undefined),
      [true, false, false, false, false, false],
      nested.name,
    );
  }
});

test('headers are decoded up to 1,000 values, in whatever tables they are', async (t) => {
  const { receive } = await subscribed(t);
  const names = (count: number) =>
    Array.from({ length: count }, (_, index) => field(`${index}`, tagged('V')));
  const counts = [1000, 1001, 15_000];
  for (const table of [
    (count: number) => Buffer.concat(names(count)),
    (count: number) => field('k', sized('A', Buffer.alloc(count - 1, 'V'))),
    (count: number) =>
      Buffer.concat([field('k', sized('F', Buffer.concat(names(500)))), ...names(count - 501)]),
  ]) {
    const frames = counts.map((count) => withHeaders(table(count)));
    const messages = await receive(frames);
    assert.deepEqual(
      headersOf(messages).map((headers) => headers !== undefined),
      [true, false, false],
    );
  }
});

/** More than is looked at before amqplib fails. */
const MANY = field('text', sized('S', Buffer.alloc(1000)));
const PROTOTYPE = field('__proto__', sized('F', field('compression', tagged('V'))));

/** Each cannot be decoded, for a different reason. */
const MALFORMED: Readonly<Record<string, Buffer>> = {
  'an unknown type': withHeaders(field('k', tagged('?', long(0)))),
  'an unknown type after many values': withHeaders(MANY, field('k', tagged('?', long(0)))),
  'a long integer before it': withHeaders(field('build', longInteger(1n)), field('k', tagged('?'))),
  'a number that is cut short': withHeaders(field('k', tagged('I', Buffer.alloc(2)))),
  'a name without a value': withHeaders(shortText('k')),
  'an array that is longer than its table': withHeaders(
    field('k', tagged('A', Buffer.concat([long(2000), Buffer.alloc(1000, 'V')]))),
  ),
  'a prototype of bytes': withHeaders(field('__proto__', sized('x', Buffer.from('b')))),
  'a prototype in a table, after many values': withHeaders(MANY, field('k', sized('F', PROTOTYPE))),
  'missing properties': contentHeader(CHANNEL, 0, 0xfffc, Buffer.alloc(0)),
  'a missing table': contentHeader(CHANNEL, 0, 0x2000, Buffer.alloc(3)),
  'missing flags': frame(2, CHANNEL, Buffer.from('003c00000000000000000000', 'hex')),
};

test('undecodable headers cost only their own message, whatever is wrong with them', async (t) => {
  const { receive } = await subscribed(t);
  for (const [what, frames] of Object.entries(MALFORMED)) {
    for (const message of await receive([frames, frames])) {
      const { headers, contentType, contentEncoding, exchange, routingKey } = message;
      const texts = [contentType, contentEncoding, exchange, routingKey];
      assert.deepEqual([headers, ...texts], [undefined, '', '', 'celeryev', 'task.sent'], what);
    }
  }
});

test('headers that only resemble a prototype are decoded', async (t) => {
  const { receive } = await subscribed(t);
  const text = sized('S', Buffer.from('__proto__'));
  const fields = ['hostname', '__proto_', 'a__proto__'].map((name) => field(name, text));
  const messages = await receive([withHeaders(...fields)]);
  assert.deepEqual(headersOf(messages), [
    { hostname: '__proto__', __proto_: '__proto__', a__proto__: '__proto__' },
  ]);
});

test('the body of such a message is read, in any number of frames', async (t) => {
  const { receive } = await subscribed(t);
  const bodies = [0, 1, 131_064, 131_065, 600_000].map((bytes) => Buffer.alloc(bytes, 'b'));
  const frames = bodies.map((body) => content(CHANNEL, field('k', tagged('?')), body));
  const messages = await receive(frames, 1000);
  assert.deepEqual(
    messages.map(({ body }) => body),
    bodies,
  );
});

test('with any bytes in place of headers, the session goes on with the next message', async (t) => {
  const { receive } = await subscribed(t);
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 40 }),
    fc.uint8Array({ minLength: 300, maxLength: 2000 }),
    // Tags and small lengths, so that more of it is well formed.
    fc.array(fc.constantFrom(0, 1, 4, ...Buffer.from('AFSxIlLdtVb?')), { maxLength: 600 }),
  );
  const flags = fc.oneof({ weight: 3, arbitrary: fc.constant(0xe000) }, fc.integer({ min: 0, max: 0xffff }));
  const properties = fc.oneof(
    bytes.map((table) =>
      Buffer.concat([
        shortText('application/json'),
        shortText('utf-8'),
        long(table.length),
        Buffer.from(table),
      ]),
    ),
    bytes.map((any) => Buffer.from(any)),
  );
  const message = fc
    .tuple(flags, properties, fc.uint8Array({ maxLength: 20 }))
    .map(([given, table, body]) => ({
      body: Buffer.from(body),
      frames: Buffer.concat([
        contentHeader(CHANNEL, body.length, given, table),
        ...bodyFrames(CHANNEL, Buffer.from(body)),
      ]),
    }));
  const run = fc.asyncProperty(
    fc.array(message, { minLength: 1, maxLength: 20 }),
    fc.integer({ min: 1, max: 3000 }),
    async (messages, chunkBytes) => {
      const received = await receive(
        messages.map(({ frames }) => frames),
        chunkBytes,
      );
      assert.deepEqual(
        received.map(({ body }) => body),
        messages.map(({ body }) => body),
      );
    },
  );
  await fc.assert(run, { numRuns: 100, endOnFailure: true });
});

test('an unknown frame reader is refused instead of left unguarded', () => {
  for (const other of [{}, { rest: Buffer.alloc(0) }, { rest: [], recvFrame: () => false }]) {
    assert.throws(() => frameReader(other), /amqplib reads frames/);
  }
});

test('properties that cannot be decoded do not become those of others', async (t) => {
  const { receive } = await subscribed(t);
  const long = withHeaders(field('hostname', sized('S', Buffer.alloc(200, 'h'))));
  const withoutFlags = frame(2, CHANNEL, Buffer.from('003c00000000000000000002', 'hex'));
  const bare = Buffer.concat([withoutFlags, ...bodyFrames(CHANNEL, Buffer.from('{}'))]);
  const messages = await receive([long, bare, long]);
  const isDecoded = messages.map(({ headers }) => headers !== undefined);
  assert.deepEqual(isDecoded, [true, false, true]);
});

test('cached headers keep no other data in memory', async (t) => {
  const { receive } = await subscribed(t);
  const table = field('k', sized('x', Buffer.from('bytes')));
  const [message] = await receive([content(CHANNEL, table, Buffer.alloc(60_000, ' '))]);
  const bytes = message?.headers?.['k'];
  assert.ok(Buffer.isBuffer(bytes) && bytes.toString() === 'bytes');
  assert.ok(bytes.buffer.byteLength < 10_000, `${bytes.buffer.byteLength} bytes`);
});
